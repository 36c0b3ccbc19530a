package disk

import "syscall"

// roomUnder returns the free space of a file system.
func roomUnder(path string) room {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return room{}
	}
	size := int64(s.Bsize) //nolint:unconvert // 32 bits on macOS
	return room{known: true, bytes: int64(s.Bavail) * size, inodes: int64(s.Ffree), hasInodes: s.Files > 0}
}
