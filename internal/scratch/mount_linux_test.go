package scratch

import (
	"os"
	"syscall"
	"testing"

	"callhouse/internal/test"
)

// remount makes a folder read-only, as the mount of a container.
func remount(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { test.OK(t, syscall.Unmount(dir, 0)) })
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
}
