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

// OwnerOf returns the name of the user whom a file belongs to, and whether that
// is another one than who runs this.
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

// deniedHint says what to do about a file that another user made; empty where
// err is of something else.
func deniedHint(err error) string {
	var at *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return ""
	}
	path, err := filepath.Abs(at.Path)
	if err != nil {
		return ""
	}
	// What lies in a folder that may not be entered cannot be looked at: the folder
	// is what is wrong.
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
