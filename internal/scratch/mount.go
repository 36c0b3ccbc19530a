package scratch

import (
	"os"
	"syscall"
)

// readOnlyMount is ST_RDONLY on Linux and MNT_RDONLY on macOS.
const readOnlyMount = 1

// OnReadOnly reports whether an open file is on a file system that is mounted read-only.
func OnReadOnly(f *os.File) bool {
	var s syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &s) == nil && s.Flags&readOnlyMount != 0
}
