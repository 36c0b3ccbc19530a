package setup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/words"
)

// steps returns the steps to perform.
func (i *initial) steps(ctx context.Context) (steps []*step, err error) {
	uid, gid := 0, 0
	if i.system {
		if uid, gid, err = i.owner(); errors.As(err, new(user.UnknownUserError)) {
			return nil, cli.Usage("create it: useradd --system --home-dir /var/lib/callhouse --shell /usr/sbin/nologin callhouse; "+
				"nothing was written", "there is no user callhouse, who runs extract every night")
		} else if err != nil {
			return nil, err
		}
	}
	keyFile := i.APIKeyFile
	if keyFile != "" {
		if keyFile, err = filepath.Abs(keyFile); err != nil {
			return nil, err
		}
	}
	if i.key != "" {
		if keyFile == "" {
			keyFile = filepath.Join(filepath.Dir(i.target), "key")
		}
		f := &file{path: keyFile, text: i.key + "\n", mode: 0o600, folder: i.folderMode(), uid: uid, gid: gid, secret: true}
		f.what = "store the API key in " + f.path + " (mode 0600)"
		steps = append(steps, f.step())
	}
	if keyFile == "" {
		return nil, cli.Usage("pass the key with --api-key-stdin", "the key of %s cannot be stored", i.from)
	}
	text, err := i.configured(keyFile)
	if err != nil {
		return nil, err
	}
	f := &file{path: i.target, text: text, mode: i.configMode(), folder: i.folderMode(), gid: gid}
	f.what = "write the configuration " + f.path
	steps = append(steps, f.step())
	if i.system && !exists(i.Warehouse) {
		steps = append(steps, i.houseStep(uid, gid))
	}
	nightly, err := i.scheduled(ctx, i.schedule, i.target)
	return some(append(steps, nightly...)...), err
}

func (i *initial) folderMode() fs.FileMode {
	if i.system {
		return 0o750
	}
	return 0o700
}

// configMode returns the mode of the configuration file: the existing file's, if there is one.
func (i *initial) configMode() fs.FileMode {
	if st, err := os.Stat(i.target); err == nil {
		return st.Mode().Perm()
	}
	if i.system {
		return 0o640
	}
	return 0o600
}

// houseStep returns the step that creates the warehouse's folder for the user callhouse.
func (i *initial) houseStep(uid, gid int) *step {
	made := false
	return &step{what: "make the folder " + i.Warehouse, undo: []string{"rmdir " + words.Shell(i.Warehouse)},
		do: func(context.Context) error {
			err := os.Mkdir(i.Warehouse, 0o700)
			if made = err == nil; made {
				err = os.Chown(i.Warehouse, uid, gid)
			}
			return err
		},
		back: func() {
			if made {
				_ = os.Remove(i.Warehouse)
			}
		}}
}

// configured returns the text of the configuration file.
func (i *initial) configured(keyFile string) (string, error) {
	set := []config.Pair{{Name: "base_url", Value: i.BaseURL}, {Name: "api_key_file", Value: keyFile},
		{Name: "warehouse", Value: i.Warehouse}, {Name: "tz", Value: i.TZ}}
	if i.currency != "" {
		set = append(set, config.Pair{Name: "currency", Value: i.currency})
	}
	if i.Share < 1 || i.File.Value("share") != "" {
		set = append(set, config.Pair{Name: "share", Value: strconv.FormatFloat(i.Share, 'g', -1, 64)})
	}
	if i.MaxDuration == 0 && i.long() {
		set = append(set, config.Pair{Name: "max_duration", Value: "6h"})
	}
	text := i.text
	if text == "" {
		text = "# Settings of callhouse, written by extract init. extract config --example prints every key.\n"
	}
	return i.env.Edit(i.target, text, set)
}

// agreed shows the steps and asks for consent.
func (i *initial) agreed(ctx context.Context, steps []*step) error {
	if len(steps) == 0 {
		words.Fprintf(i.stderr, "\nEverything is set up like this already.\n")
		return nil
	}
	words.Fprintf(i.stderr, "\ninit will:\n")
	for _, s := range steps {
		words.Fprintf(i.stderr, "  - %s\n", s.what)
	}
	if !i.yes {
		words.Fprintln(i.stderr)
		yes, err := i.ask.agree(ctx, "Continue?", true)
		if err == nil && !yes {
			err = cli.Fail(cli.ExitFailed, errors.New("nothing was written"), "")
		}
		return err
	}
	if replaced := slices.IndexFunc(steps, func(s *step) bool { return s.replaces }); replaced >= 0 && !i.replace {
		return cli.Usage("--replace replaces it; nothing was written", "it exists already: %s", steps[replaced].path)
	}
	return nil
}

// next prints what to do next, and how to undo the changes.
func (i *initial) next(steps []*step) {
	name := func(program string) string {
		path := filepath.Join(filepath.Dir(i.program), program)
		if found, err := exec.LookPath(program); err == nil {
			if same, err := filepath.EvalSymlinks(found); err == nil && (found == path || same == path) {
				path = program
			}
		}
		if i.system {
			path = "sudo -u " + serviceUser + " " + path
		}
		return path
	}
	with := ""
	if !slices.Contains(i.env.Files, i.target) && i.env.Get(config.EnvFile) == "" {
		with = " --config " + words.Shell(i.target)
	}
	out := i.Text(i.stdout)
	words.Fprintf(out, "\nDone. Next, the first run and the first report:\n  %s run%s\n  %s sentiment --by agent%s\n",
		name("extract"), with, name("query"), with)
	if i.schedule == byNone {
		what := "Nothing"
		if len(i.schedules()) == 1 && !i.temporary() {
			what = "Neither systemd nor cron was found, so nothing"
		}
		words.Fprintf(out, "%s starts it every night: see docs/reference/operations.md.\n", what)
	}
	if i.schedule == bySystemd && !i.system {
		words.Fprintf(out, "For nights when you are logged out: loginctl enable-linger\n")
	}
	if len(steps) > 0 {
		words.Fprintf(out, "To undo it:\n")
	}
	for _, s := range slices.Backward(steps) {
		for _, line := range s.undo {
			words.Fprintf(out, "  %s\n", line)
		}
	}
}
