package querycmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
)

// A long answer goes to the pager, with its messages; a short one goes to the terminal, and so does
// any answer without a pager.
func TestPager(t *testing.T) {
	house(t)
	bin := t.TempDir()
	paged := filepath.Join(bin, "paged")
	pager := "PAGER=cat > " + paged + "; echo THE PAGER"
	for _, c := range []struct {
		args  string
		rows  int
		pager string
		paged bool
	}{
		{"describe calls", 20, pager, true},
		{"describe calls", 20, "PAGER=", false},
		{"describe calls", 20, "PAGER=cat", false},
		{"describe calls", 20, "PAGER=lss -R", false},
		{"describe calls --no-pager", 20, pager, false},
		{"describe calls", 500, pager, false},
		{"sentiment", 20, pager, false},
		{"sentiment --by agent,day", 6, pager, true},
		{"list", 20, pager, true},
	} {
		x := start(t, 100, c.rows, c.args, c.pager)
		code := x.ends()
		<-x.shown
		text, err := os.ReadFile(paged)
		if code != cli.ExitOK || c.paged != (err == nil) || c.paged != strings.Contains(x.drawn(), "THE PAGER") {
			t.Errorf("query %s, %s: exit code %d, paged %v:\n%s", c.args, c.pager, code, err == nil, x.drawn())
		}
		if !c.paged && !strings.Contains(x.drawn(), "call") {
			t.Errorf("query %s, %s shows nothing", c.args, c.pager)
		}
		if strings.HasPrefix(c.args, "sentiment --by") && !strings.Contains(string(text), "coverage:") {
			t.Errorf("query %s: its messages are not in the pager:\n%s", c.args, text)
		}
		_ = os.Remove(paged)
	}
}

// The user quits less early, and less handles Ctrl-C.
func TestPagerLess(t *testing.T) {
	if _, err := exec.LookPath("less"); err != nil {
		t.Skip("no less on this machine")
	}
	house(t)
	x := start(t, 100, 20, "describe calls", "PAGER=less")
	x.wait("its prompt", func() bool { lines := strings.Split(x.shows(), "\n"); return lines[len(lines)-1] == ":" })
	if strings.Contains(x.shows(), "<E2>") {
		t.Errorf("it takes the answer for another encoding:\n%s", x.shows())
	}
	x.keys(ctrlC)
	x.keys(ctrlC)
	code := -1
	x.wait("the end", func() bool { // less drops keys typed right after Ctrl-C
		_, _ = x.tty.WriteString("q")
		select {
		case err := <-x.left:
			code = endOf(err)
			return true
		default:
			return false
		}
	})
	if code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", code, x.shows())
	}
}

// Verdicts are coloured on a terminal, unless NO_COLOR is set.
func TestColours(t *testing.T) {
	house(t)
	for _, env := range []string{"NO_COLOR=", "NO_COLOR=1", "TERM=dumb"} {
		x := start(t, 100, 40, "coverage", env)
		x.ends()
		<-x.shown
		if coloured := strings.Contains(x.drawn(), "\x1b[32mgood\x1b[0m "); coloured != (env == "NO_COLOR=") {
			t.Errorf("%s: %q", env, x.drawn())
		}
	}
	if r := run(t, "", "coverage"); strings.Contains(r.out, "\x1b") {
		t.Errorf("colours in a pipe: %q", r.out)
	}
}
