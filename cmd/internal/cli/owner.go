package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"callhouse/internal/layout"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// OwnerOf returns the owner of a file, and whether it is a different user from the one running this
// program.
func OwnerOf(path string) (owner string, others bool) {
	st, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	id, known := scratch.UserOf(st)
	if !known {
		return "", false
	}
	return userName(id), id != os.Geteuid()
}

func userName(uid int) string {
	if login := loginOf(uid); login != strconv.Itoa(uid) {
		return login
	}
	return "the user " + strconv.Itoa(uid)
}

// loginOf returns a user's name as chown takes it: the number of a user without a name.
func loginOf(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// deniedHint returns a hint for a file of another user; empty for other errors. It suggests chown
// only for a whole warehouse, since other folders may have their owner for a good reason.
func deniedHint(err error) string {
	var at *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return ""
	}
	wanted, err := filepath.Abs(at.Path)
	if err != nil {
		return ""
	}
	// A file in an inaccessible folder cannot be inspected: then the folder is the problem.
	path := wanted
	for _, err = os.Stat(path); err != nil && path != filepath.Dir(path); _, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	owner, others := OwnerOf(path)
	if owner == "" {
		return "check the permissions of " + path
	}
	if !others {
		return fmt.Sprintf("%s belongs to %s, the current user: check its mode (ls -ld) and whether the file system is writable", path, owner)
	}
	me := userName(os.Geteuid())
	whose := fmt.Sprintf("%s belongs to %s, but the current user is %s: ", path, owner, me)
	if house := warehouseOf(path); house != "" {
		return fmt.Sprintf("%srun it as %s or, to give the warehouse to %s, as root: chown -R %s %s",
			whose, owner, me, words.Shell(loginOf(os.Geteuid())), words.Shell(house))
	}
	if _, err := os.ReadDir(path); path != wanted && err == nil {
		return fmt.Sprintf("%scheck the path: %s does not exist and %s may not create it", whose, wanted, me)
	}
	return whose + "check the path, or run it as " + owner +
		`; to give a warehouse to another user, see "Messages" in docs/reference/operations.md`
}

// warehouseOf returns the warehouse that contains a file; empty if none is visible to this user.
func warehouseOf(path string) string {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if layout.IsWarehouse(path) {
			return path
		}
	}
	return ""
}
