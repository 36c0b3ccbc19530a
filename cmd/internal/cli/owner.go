package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// OwnerOf returns the name of the user who owns a file, and whether that is
// somebody else than the user who runs this program.
func OwnerOf(path string) (owner string, others bool) {
	st, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return userName(int(sys.Uid)), int(sys.Uid) != os.Geteuid()
}

func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "the user " + id
}

// deniedHint says what to do about a file of another user; empty if err is about
// something else.
func deniedHint(err error) string {
	var at *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return ""
	}
	path, err := filepath.Abs(at.Path)
	if err != nil {
		return ""
	}
	// A file in a folder that may not be entered cannot be looked at: then the
	// folder is the problem.
	for _, err := os.Stat(path); err != nil && path != filepath.Dir(path); _, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	owner, others := OwnerOf(path)
	me := userName(os.Geteuid())
	if !others {
		return fmt.Sprintf("%s belongs to %s, who runs this: look at its mode (ls -ld), and whether it can be written to at all", path, owner)
	}
	return fmt.Sprintf("%s belongs to %s, and this is %s: run it as %s, or, where it should be %s's, as root: chown -R %s %s", path, owner, me, owner, me, me, path)
}
