package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
)

// serviceUser is the user of the system's nightly run.
const serviceUser = "callhouse"

// machine is where init writes. Root sets up the machine for the user callhouse, other users only
// their own account.
type machine struct {
	system    bool
	root      string // prefix of the machine's folders, for tests
	env       config.Environment
	config    string // the file to write, unless another is named
	warehouse string // default
	zone      string // default
	program   string // path of extract
	owner     func() (uid, gid int, err error)
	run       func(ctx context.Context, stdin, name string, args ...string) (string, error)
}

func newMachine(env config.Environment) (*machine, error) {
	m := &machine{system: os.Geteuid() == 0, env: env, zone: zoneOf(env), owner: ownerOf, run: runProgram, config: env.Own}
	home := env.Get("HOME")
	m.warehouse = filepath.Join(home, "callhouse")
	if m.system {
		m.config, m.warehouse = env.Machine, "/var/lib/callhouse"
	} else if home == "" {
		return nil, cli.Usage("set HOME, or run it as root to set up the machine", "the user has no home folder")
	}
	var err error
	m.program, err = os.Executable()
	return m, err
}

// zoneOf returns the machine's time zone; UTC if it has no name.
func zoneOf(env config.Environment) string {
	if tz := strings.TrimPrefix(env.Get("TZ"), ":"); tz != "" && !filepath.IsAbs(tz) {
		return tz
	}
	if to, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(to, "/zoneinfo/"); ok {
			return name
		}
	}
	return "UTC"
}

func ownerOf() (uid, gid int, err error) {
	u, err := user.Lookup(serviceUser)
	if err != nil {
		return 0, 0, err
	}
	uid, err = strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err, err2)
}

// runProgram runs a program and returns its output. The error contains its stderr.
func runProgram(ctx context.Context, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return out.String(), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// hasProgram reports whether a program is in PATH.
func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
