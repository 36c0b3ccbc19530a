package extractcmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// A file system without inodes, and one without space, make a command fail with a message, and nothing is lost: once there is room, the same command succeeds.
func TestNoInodes(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "calls.ndjson")
	var text []byte
	for i := range 60 { // each on a different day
		text = fmt.Appendf(text, `{"id":"c%d","status":"ended","start_at":%d,"metadata":{"x":"%x"}}`+"\n", i, 1_760_000_000_000+int64(i)*86_400_000, bytes.Repeat([]byte{byte(i)}, i))
	}
	test.OK(t, os.WriteFile(lines, text, 0o600))
	for _, c := range []struct{ small, large, hint string }{
		{"nr_inodes=60,size=256m", "nr_inodes=4000,size=256m", "df -i"},
		{"nr_inodes=9000,size=500k", "nr_inodes=9000,size=256m", "free some space"},
	} {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, c.small); err != nil {
			t.Skipf("only root can mount a small file system here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		imports := func() (int, string) {
			code, stdout, stderr := call(t, "", "--warehouse", filepath.Join(dir, "w"), "import", lines)
			return code, stdout + stderr
		}
		if code, out := imports(); code != cli.ExitFailed || !strings.Contains(out, "no space left under ") || !strings.Contains(out, c.hint) {
			t.Errorf("%s: exit code %d\n%s", c.small, code, out)
		}
		test.OK(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, c.large))
		if code, out := imports(); code != cli.ExitOK {
			t.Errorf("with room: exit code %d\n%s", code, out)
		}
	}
}

// On a full disk the lock can be taken, and holds: a command that frees space must run. How a run ends is known.
func TestLockOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "nr_inodes=100,size=64k"); err != nil {
		t.Skipf("only root can mount a small file system here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	take := func() (*disk.Lock, error) {
		l, _, err := disk.TakeLock(dir, disk.Holder{PID: os.Getpid(), RunID: "run", Since: time.Now()})
		return l, err
	}
	l, err := take()
	test.OK(t, err)
	test.OK(t, l.Release())
	for n := 0; err == nil; n++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprint("full", n)), make([]byte, 1<<10), 0o600)
	}
	l, err = take()
	test.OK(t, err)
	if _, err := take(); !cli.Is[*disk.LockedError](err) {
		t.Errorf("a second holder: %v", err)
	}
	lost := disk.Lost{RunID: "run", Error: "no space left", Problem: "disk full"}
	test.OK(t, errors.Join(l.SetLost([]disk.Lost{lost}), l.Release()))
	err = l.SetLost([]disk.Lost{{Error: strings.Repeat("long", 5000)}})
	if h, _, unread := disk.Who(dir); err == nil || unread != nil || !h.Released || len(h.Lost) != 1 || h.Lost[0] != lost {
		t.Errorf("%v, %v, %+v", err, unread, h)
	}
}

// Without settings, errors name extract init, or the machine's file that this user cannot read.
func TestNoSettings(t *testing.T) {
	for hidden, says := range map[string]string{"": "run: extract init", "/proc/sys/vm/compact_memory": "cannot read /proc"} { // only to be written
		for _, args := range []string{"run", "plan", "status", "verify", "compact"} {
			env, errs := cmdtest.Env(), new(bytes.Buffer)
			env.Machine = hidden
			if Run(t.Context(), env, []string{args}, strings.NewReader(""), errs, errs); !strings.Contains(errs.String(), says) {
				t.Error(args, errs)
			}
		}
	}
}
