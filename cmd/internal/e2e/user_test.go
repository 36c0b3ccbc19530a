package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// nobody is the unprivileged user of tests that run as root.
const nobody = 65534

// serviceUser is a machine with a user for callhouse: nobody if the tests run as root, otherwise
// the user of the tests.
type serviceUser struct {
	t        *testing.T
	root     string // a folder that all users can enter
	uid, gid int
}

func newServiceUser(t *testing.T) *serviceUser {
	t.Helper()
	u := &serviceUser{t: t, uid: os.Getuid(), gid: os.Getgid()}
	if u.uid == 0 {
		u.uid, u.gid = nobody, nobody
	}
	var err error
	if u.root, err = os.MkdirTemp("", "callhouse-user-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(u.root) })
	self, err := os.Executable() // which acts as a program when called by its name, see TestMain
	bin := filepath.Join(u.root, "bin")
	if err = errors.Join(err, os.Chmod(u.root, 0o755), os.Mkdir(bin, 0o755)); err != nil {
		t.Fatal(err)
	}
	// Its own folder is not accessible to others, so a symbolic link would not work.
	if os.Link(self, filepath.Join(bin, "extract")) != nil {
		if out, err := exec.CommandContext(t.Context(), "cp", self, filepath.Join(bin, "extract")).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	test.OK(t, os.Link(filepath.Join(bin, "extract"), filepath.Join(bin, "query")))
	become := ""
	if os.Getuid() == 0 {
		become = fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups ", u.uid, u.gid)
	}
	test.OK(t, os.WriteFile(filepath.Join(bin, "sudo"), []byte("#!/bin/sh\nshift 2\nexec "+become+"\"$@\"\n"), 0o755))
	return u
}

// command returns a command that runs a script as the tests' user, with this user's programs and a
// fake sudo that switches to it, whichever user is named: the machine may have no usable sudo.
func (u *serviceUser) command(dir, script string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + u.root + "/bin:/usr/bin:/bin"}, env...)
	return cmd
}

// One user's files are not accessible to another. The message names the path and has a hint; an
// enclosing folder does not matter.
func TestAnotherUsersFiles(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	u := newServiceUser(t)
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 30, Days: 3}})
	c.warehouse = filepath.Join(u.root, "w")
	c.mustExtract()
	home, key := filepath.Join(u.root, "home"), filepath.Join(u.root, "key")
	test.OK(t, errors.Join(os.Mkdir(home, 0o700), os.WriteFile(key, []byte(testKey), 0o600)))
	give := func(path string) {
		t.Helper()
		test.OK(t, filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(p, nobody, nobody))
		}))
	}
	run := func(dir, args string) result {
		t.Helper()
		cmd := u.command(dir, "sudo -u callhouse "+args+" --warehouse "+c.warehouse, "HOME=/nonexistent")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String(), fmt.Sprint(args)}
	}
	extractRun := "extract run --base-url " + c.service.URL + " --api-key-file " + key + " --requests-per-second 2000 --requests-per-minute 100000"
	expect := func(what string, r result, code int, says ...string) {
		t.Helper()
		for _, text := range says {
			if r.code != code || !strings.Contains(r.stderr, text) {
				t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", what, r.code, code, text, r.stdout, r.stderr)
			}
		}
	}
	expect("a key that is root's", run("/", extractRun), cli.ExitUsage, "ls -ld "+key)
	give(key)
	expect("a warehouse that is root's", run("/", extractRun), cli.ExitFailed, "ls -ld "+c.warehouse)
	expect("status of it", run("/", "extract status"), cli.ExitFailed, "ls -ld "+c.warehouse)
	expect("a query of it", run("/", "query volume"), cli.ExitFailed, "ls -ld "+c.warehouse)
	give(c.warehouse)
	lock := filepath.Join(c.warehouse, "lock")
	test.OK(t, os.Chown(lock, 0, 0))
	expect("a lock that is root's", run("/", extractRun), cli.ExitFailed, "ls -ld "+lock)
	for _, name := range []string{"journal", "snapshots", "snapshots/000001", "current"} { // all at once
		test.OK(t, os.Lchown(filepath.Join(c.warehouse, name), 0, 0))
	}
	expect("more that is root's", run("/", extractRun), cli.ExitFailed, "permission denied")
	house := c.warehouse
	for _, path := range []string{"/callhose", "/usr", "/usr/callhose", "/root", "/etc", home, filepath.Join(home, "w")} {
		c.warehouse = path
		for _, args := range []string{extractRun, "extract status"} {
			if r := run("/", args); r.code != cli.ExitFailed || strings.Contains(r.stderr, "goroutine") {
				t.Errorf("%s of %s: exit code %d:\n%s", args, path, r.code, r.stderr)
			}
		}
	}
	c.warehouse = house
	give(c.warehouse)

	// A working folder that the user cannot even list.
	for _, args := range []string{extractRun, "extract status", "extract verify", "query volume", "query sql 'SELECT count(*) FROM calls'"} {
		expect("in a folder of root's: "+args, run(home, args), cli.ExitOK, "")
	}
	// An existing but unreadable file is named with its path.
	open := filepath.Join(u.root, "open")
	file := filepath.Join(open, "callhouse.toml")
	test.OK(t, errors.Join(os.Mkdir(open, 0o755), os.WriteFile(file, nil, 0o600)))
	expect("settings that are root's", run(open, "extract status"), cli.ExitUsage, "open "+file+": permission denied", "ls -ld "+file)
}
