package extractcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/settings"
)

// The exit code of several profiles is their worst one. A failure does not stop the others, an
// interrupt does.
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
		var out bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		err := oneByOne(ctx, all, &out, func(_ context.Context, s *settings.Settings, _ io.Writer) error {
			var n int
			if _, err := fmt.Sscan(s.Profile, &n); err != nil || c.codes[n] == 0 {
				return err
			}
			return cli.Fail(c.codes[n], errors.New("why"), "what to do")
		})
		if got := cli.Code(err); got != c.want {
			t.Errorf("of %v came %d, want %d", c.codes, got, c.want)
		}
		for i, code := range c.codes {
			said := fmt.Sprintf("profile %d:\n", i)
			if code != 0 {
				said += "extract: why\n"
			}
			if !strings.Contains(out.String(), said) || code != 0 && !strings.Contains(err.Error(), fmt.Sprintf("%d (exit code %d)", i, code)) {
				t.Errorf("%d ended with %d, and is not reported:\n%s%v", i, code, out.String(), err)
			}
		}
		cancel()
		out.Reset()
		if _ = oneByOne(ctx, all, &out, func(context.Context, *settings.Settings, io.Writer) error { return nil }); strings.Contains(out.String(), "profile 1:") {
			t.Errorf("another profile began after an interrupt:\n%s", &out)
		}
	}
}
