package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// Owner is a user to whom files belong. The zero value is root.
type Owner struct {
	UID, GID int
	Name     string // its id, if it has no name
	Home     string
	groups   []int
}

// OwnerOf returns the owner of a folder, or of the nearest existing one around it. A folder in which
// everybody may create files, such as /tmp, makes nobody the owner of what is missing in it.
func OwnerOf(path string) Owner {
	st, err := os.Stat(path)
	around := false
	for ; err != nil && path != filepath.Dir(path); around = true {
		path = filepath.Dir(path)
		st, err = os.Stat(path)
	}
	if err != nil || scratch.UserOf(st) == 0 || around && (st.Mode().Perm()&0o002 != 0 || st.Mode()&fs.ModeSticky != 0) {
		return Owner{}
	}
	id, group := scratch.UserOf(st), scratch.GroupOf(st)
	named, err := user.LookupId(strconv.Itoa(id))
	if err != nil { // as in a container
		return Owner{UID: id, GID: group, Name: strconv.Itoa(id), Home: "/", groups: []int{group}}
	}
	return OwnerAs(named)
}

// OwnerAs returns a user as an owner.
func OwnerAs(u *user.User) Owner {
	o := Owner{Name: u.Username, Home: cmp.Or(u.HomeDir, "/")}
	o.UID, _ = strconv.Atoi(u.Uid) // numbers, but on Windows
	o.GID, _ = strconv.Atoi(u.Gid)
	o.groups = []int{o.GID}
	ids, _ := u.GroupIds() // without them the user has its own group
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil && n != o.GID {
			o.groups = append(o.groups, n)
		}
	}
	return o
}

// MayNot returns the first of a path and its folders that the owner may not enter or, the path itself,
// execute, and its mode; empty if there is none.
func (o *Owner) MayNot(path string) (closed string, mode fs.FileMode) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for at := path; o.UID != 0; at = filepath.Dir(at) {
		if st, err := os.Stat(at); err == nil {
			bit := fs.FileMode(0o001)
			switch {
			case scratch.UserOf(st) == o.UID:
				bit = 0o100
			case slices.Contains(o.groups, scratch.GroupOf(st)):
				bit = 0o010
			}
			if st.Mode()&bit == 0 {
				closed, mode = at, st.Mode().Perm()
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return closed, mode
}

// BecomeOwner makes root the user to whom the warehouse belongs, before anything in it is opened: that
// user's own runs could not change root's files. The file is checked and the key read before, since
// they may be root's.
func (c *Config) BecomeOwner(stderr io.Writer) error {
	o := OwnerOf(c.Warehouse)
	if !c.Env.Root || o.UID == 0 {
		return c.CheckFile(os.Geteuid())
	}
	if err := c.CheckFile(o.UID); err != nil {
		return err
	}
	if p, err := c.KeyPlace(); err == nil && p.file != "" {
		c.keys[p.file], _ = c.Env.ReadSecret(p.file, "API key", keyHint) // a command that needs it returns the error
	}
	err := o.Become(c.Env)
	if err == nil && !c.Quiet {
		words.Fprintf(stderr, "running as the user %s, to whom %s belongs\n", o.Name, c.Warehouse)
	}
	return err
}

// Become makes this process of root one of the owner. It does so before anything is opened, so that
// the owner's own commands can change whatever it writes.
func (o *Owner) Become(env Environment) error {
	if o.UID == 0 {
		return nil
	}
	if err := errors.Join(syscall.Setgroups(o.groups), syscall.Setgid(o.GID), syscall.Setuid(o.UID)); err != nil {
		return cli.Usage(fmt.Sprintf("start it as that user, in a container with --user %d:%d", o.UID, o.GID),
			"the files belong to the user %s, and root may not act as another user here: %w", o.Name, err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"} { // of root
		delete(env.Vars, name)
		_ = os.Unsetenv(name)
	}
	for name, value := range map[string]string{"HOME": o.Home, "USER": o.Name, "LOGNAME": o.Name} {
		env.Vars[name] = value
		_ = os.Setenv(name, value) // a valid name
	}
	return nil
}
