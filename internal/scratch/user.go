package scratch

import (
	"io/fs"
	"syscall"
)

// UserOf returns the id of a file's owner.
func UserOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// GroupOf returns the id of a file's group.
func GroupOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Gid) }
