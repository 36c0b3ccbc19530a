package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Output reports whether what a path leads to is written directly, as an open file, a device or a pipe,
// and not replaced. It returns an error if another user put something there: a file, whose mode may
// show private data, a pipe, or a link to any file. Root is trusted.
func Output(path string) (direct bool, err error) {
	if opened(path) >= 0 {
		return true, nil
	}
	name, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		info = name // a link to nothing
	}
	switch {
	case info.IsDir():
		return false, errors.New("is a folder")
	case !trusted(name):
		return false, fmt.Errorf("belongs to another user (%d)", UserOf(name))
	case !trusted(info):
		return false, fmt.Errorf("leads to a file of another user (%d)", UserOf(info))
	}
	return info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0, nil
}

func trusted(info fs.FileInfo) bool { return UserOf(info) == 0 || isUsers(info) }

// opened returns the number of this process's open file that a path names, or -1.
func opened(path string) int {
	path = strings.NewReplacer("/dev/stdout", "/dev/fd/1", "/dev/stderr", "/dev/fd/2", "/proc/self/fd/", "/dev/fd/").Replace(path)
	number, is := strings.CutPrefix(path, "/dev/fd/")
	if n, err := strconv.Atoi(number); is && err == nil {
		return n
	}
	return -1
}

// OpenOutput opens what a path leads to, and with os.O_CREATE a new file for its owner only. A named pipe
// that nobody reads is an error.
func OpenOutput(path string, flag int) (*os.File, error) {
	if _, err := Output(path); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	if n := opened(path); n >= 0 { // shares its position
		n, err := syscall.Dup(n)
		return os.NewFile(uintptr(n), path), err
	}
	if name, err := os.Lstat(path); err != nil || name.Mode()&fs.ModeSymlink == 0 || !trusted(name) {
		flag |= syscall.O_NOFOLLOW // a link since then is another user's
	}
	return os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|flag, 0o600)
}
