package extractcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/settings"
)

// The exit code of several profiles is their worst one, and each profile runs to its end.
func TestWorstExitCode(t *testing.T) {
	for _, c := range []struct {
		codes []int
		want  int
	}{
		{[]int{0, 0, 0}, 0}, {[]int{0, 3}, 3}, {[]int{3, 130}, 130}, {[]int{130, 4, 3}, 4}, {[]int{4, 1, 0}, 1}, {[]int{1, 2, 4}, 2},
	} {
		var all []*settings.Settings
		for i := range c.codes {
			all = append(all, &settings.Settings{Config: config.Config{Profile: fmt.Sprint(i)}})
		}
		var begun sync.WaitGroup
		begun.Add(len(all))
		var out bytes.Buffer
		err := sideBySide(t.Context(), all, &out, func(_ context.Context, s *settings.Settings, stderr io.Writer) error {
			begun.Done()
			begun.Wait() // wait until all are running
			var n int
			if _, err := fmt.Sscan(s.Profile, &n); err != nil {
				return err
			}
			fmt.Fprint(stderr, "half of a line, ")
			fmt.Fprint(stderr, "and the rest\n")
			if c.codes[n] == 0 {
				return nil
			}
			return cli.Fail(c.codes[n], errors.New("why"), "what to do")
		})
		if got := cli.Code(err); got != c.want {
			t.Errorf("of %v came %d, want %d", c.codes, got, c.want)
		}
		for i, code := range c.codes {
			if n := strings.Count(out.String(), fmt.Sprintf("[%d] half of a line, and the rest\n", i)); n != 1 {
				t.Errorf("its line is there %d times:\n%s", n, out.String())
			}
			if code != 0 && (!strings.Contains(out.String(), fmt.Sprintf("[%d] extract: why\n", i)) ||
				!strings.Contains(err.Error(), fmt.Sprintf("%d (exit code %d)", i, code))) {
				t.Errorf("%d ended with %d, and is not told:\n%s%v", i, code, out.String(), err)
			}
		}
	}
}

// JSON lines contain the name of their profile.
func TestPrefixed(t *testing.T) {
	var out bytes.Buffer
	p := &prefixed{mu: &sync.Mutex{}, out: &out, prefix: "[a] "}
	for _, piece := range []string{"one\ntw", "o\n", `{"x":1}`, "\nno end"} {
		if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	p.flush()
	if want := "[a] one\n[a] two\n{\"x\":1}\n[a] no end\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
