package scratch

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"callhouse/internal/test"
)

// Nothing is written to what another user put at a path, and an open file is itself, with its position.
func TestOutput(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	t.Chdir(t.TempDir())
	test.OK(t, errors.Join(os.WriteFile("own", nil, 0o666), os.WriteFile("foreign", nil, 0o666), syscall.Mkfifo("foreign pipe", 0o666),
		os.Symlink("own", "link"), os.Symlink("own", "foreign link"), os.Symlink("foreign", "link to a foreign file")))
	for _, name := range []string{"foreign", "foreign pipe", "foreign link"} {
		test.OK(t, os.Lchown(name, 12345, 12345))
	}
	for _, name := range []string{"none", "own", "link", "/dev/null", "/dev/stdout", "foreign", "foreign pipe", "foreign link", "link to a foreign file"} {
		if _, err := Output(name); strings.Contains(name, "foreign") != (err != nil && strings.HasSuffix(err.Error(), "another user (12345)")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := os.OpenFile("own", os.O_WRONLY, 0)
	test.OK(t, err)
	again, err := OpenOutput(fmt.Sprint("/dev/fd/", f.Fd()), 0)
	test.OK(t, err)
	_, err = f.WriteString("one ")
	_, failed := again.WriteString("two")
	raw, reading := os.ReadFile("own")
	if err = errors.Join(err, failed, reading, again.Close(), f.Close()); err != nil || string(raw) != "one two" {
		t.Errorf("%q, %v", raw, err)
	}
}
