//go:build unix

package scratch

import (
	"io/fs"
	"syscall"
)

// UserOf returns the id of a file's owner, if that is known.
func UserOf(info fs.FileInfo) (id int, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
