// Package setup is extract init: it asks for the settings, tries them with one request, and writes
// the configuration, the key and the schedule. It writes nothing before all questions are answered.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/internal/words"
)

const about = `init asks for the service's address, the API key, the warehouse, the time zone, the currency and
whether other programs use the same request limits. It tests the key with exactly one request,
estimates the first night from the answer, and writes callhouse.toml, a file with the key (mode
0600), and a systemd timer or a cron line. It shows what it will write and asks before it does.
Existing values are the defaults, so it can be run again to change them.

Run by root it sets up the machine: /etc/callhouse, and the user callhouse in /var/lib/callhouse.
Run by anybody else it sets up that user's own account only.

With --yes it asks nothing: values come from flags, the environment and the existing file, and the
key from CALLHOUSE_API_KEY, --api-key-file or --api-key-stdin. It then replaces an existing file
with other content only with --replace.

Exit codes: 0 done; 1 the test failed or a file cannot be written; 2 wrong use, or a configuration
that this version does not understand; 130 interrupted. Unless it is 0, nothing was written.`

// flags are the flags that only init has.
type flags struct {
	yes, piped, replace bool
	currency, schedule  string
}

// Command returns the command init.
func Command(s *settings.Settings) *cobra.Command { return command(s, newMachine) }

func command(s *settings.Settings, machineOf func(config.Environment) (*machine, error)) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "init", Short: "Set up callhouse: ask, test the key, write the configuration and a schedule", Long: about,
		Example: `  extract init
  extract init --yes --base-url https://api.example.com --api-key-stdin < key
  CALLHOUSE_API_KEY=… extract init --yes --base-url https://api.example.com --schedule none`,
		Args: cli.NoArgs,
	}
	named := ""
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		named = forget(s)
		if err := s.Configure(cmd); err != nil {
			hint := "correct the line or, if a newer callhouse wrote it, install that; nothing was written"
			if own := cli.Hint(err); own != "" {
				hint = own + "; " + hint
			}
			return cli.Fail(cli.Code(err), err, hint)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		m, err := machineOf(s.Env)
		if err != nil {
			return err
		}
		i := &initial{Settings: s, flags: f, machine: m, named: named, stdin: cmd.InOrStdin(), stdout: cmd.OutOrStdout(),
			stderr: cmd.ErrOrStderr()}
		return i.run(cmd.Context())
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&f.yes, "yes", false, "ask nothing; for scripts")
	fl.BoolVar(&f.piped, "api-key-stdin", false, "read the API key from stdin")
	fl.BoolVar(&f.replace, "replace", false, "with --yes: replace existing files with other content")
	fl.StringVar(&f.currency, "currency", "", "`CODE` of the currency of costs, e.g. KRW")
	fl.StringVar(&f.schedule, "schedule", "", "`KIND` of nightly start: systemd, cron or none; default: what the machine has")
	cli.Complete(cmd, "schedule", bySystemd, byCron, byNone)
	return cmd
}

// forget drops a named configuration file that does not exist yet, and returns its path.
func forget(s *settings.Settings) string {
	named := cmp.Or(s.Path, s.Env.Get(config.EnvFile))
	if named == "" {
		return ""
	}
	if _, err := os.Stat(named); errors.Is(err, fs.ErrNotExist) {
		vars := map[string]string{}
		for name, value := range s.Env.Vars {
			if name != config.EnvFile {
				vars[name] = value
			}
		}
		s.Path, s.Env.Vars, s.Env.Files = "", vars, nil
	}
	return named
}

// initial is one run of init.
type initial struct {
	*settings.Settings
	flags
	*machine
	stdin          io.Reader
	stdout, stderr io.Writer
	named          string // configuration file
	ask            *prompter

	target string // configuration file to write
	text   string // its present text
	key    string // typed or piped; empty: the one named by the settings
	from   string // where key came from, for messages
	calls  int64  // of the service; -1: unspecified
	stored string // the key in a file of the settings
	was    string // address of the existing settings
}

func (i *initial) run(ctx context.Context) error {
	if err := i.find(); err != nil {
		return err
	}
	var err error
	if i.yes {
		err = i.given(ctx)
	} else {
		in, ok := i.stdin.(*os.File)
		if !ok || !cli.IsTerminal(i.stdin) || !cli.CanDraw(i.stderr) {
			return cli.Usage("give the values as flags or environment variables, with --yes: see extract init --help",
				"init asks questions, which takes a terminal")
		}
		i.ask = &prompter{in, i.stderr}
		err = i.asked(ctx)
	}
	if err != nil {
		return err
	}
	steps, err := i.steps(ctx)
	if err != nil {
		return err
	}
	i.first()
	if err := i.agreed(ctx, steps); err != nil {
		return err
	}
	if err := perform(ctx, steps); err != nil {
		return settings.Explain(err)
	}
	i.next(steps)
	return nil
}

// find determines the file to write.
func (i *initial) find() error {
	if i.target = i.named; i.target == "" {
		i.target = i.config
		if i.File != nil && (i.system || ownFile(i.File.Path)) {
			i.target = i.File.Path
		}
	}
	if i.target == "" {
		return cli.Usage("name it with --config FILE", "no place for the configuration file")
	}
	var err error
	if i.target, err = filepath.Abs(i.target); err != nil {
		return err
	}
	if i.File != nil && len(i.File.Profiles) > 0 {
		return cli.Usage("edit the file by hand: extract config --example shows how", "%s has profiles, which init does not write", i.File.Path)
	}
	raw, err := os.ReadFile(i.target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	i.text, i.was = string(raw), config.ServiceOf(i.BaseURL)
	return nil
}

// ownFile reports whether this user may write a file.
func ownFile(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// given takes all values without questions.
func (i *initial) given(ctx context.Context) error {
	var err error
	if i.BaseURL, err = i.validAddress(i.BaseURL); err != nil {
		return err
	}
	if i.piped {
		raw, err := io.ReadAll(io.LimitReader(i.stdin, 64<<10))
		if err != nil {
			return fmt.Errorf("read the API key from stdin: %w", err)
		}
		i.key, i.from = strings.TrimSpace(string(raw)), "stdin"
		if _, err := i.validKey(i.key); err != nil {
			return err
		}
	} else if err := i.keyOfSettings(); err != nil {
		return err
	}
	if i.Warehouse, err = i.validWarehouse(i.usualWarehouse()); err != nil {
		return err
	}
	if i.TZ, err = validZone(i.usualZone()); err != nil {
		return err
	}
	if i.currency, err = validCurrency(i.usualCurrency()); err != nil {
		return err
	}
	if i.schedule, err = i.validSchedule(cmp.Or(i.schedule, i.schedules()[0])); err != nil {
		return err
	}
	return i.test(ctx)
}

// asked asks for all values.
func (i *initial) asked(ctx context.Context) error {
	whose := "this user"
	if i.system {
		whose = "this machine"
	}
	words.Fprintf(i.stderr, "This sets up callhouse for %s. Enter accepts the value in [brackets]. "+
		"Ctrl-C stops; nothing is written before the end.\n\n", whose)
	if err := i.askService(ctx); err != nil {
		return err
	}
	var err error
	if i.Warehouse, err = i.ask.ask(ctx, "Folder of the warehouse", i.usualWarehouse(), i.validWarehouse); err != nil {
		return err
	}
	if i.TZ, err = i.ask.ask(ctx, "Time zone of days and reports", i.usualZone(), validZone); err != nil {
		return err
	}
	question := "Currency of costs, e.g. KRW or USD (Enter for none)"
	if i.usualCurrency() != "" {
		question = "Currency of costs"
	}
	if i.currency, err = i.ask.ask(ctx, question, i.usualCurrency(), validCurrency); err != nil {
		return err
	}
	others, err := i.ask.agree(ctx, "Do other programs use the same request limits?", i.Share < 1)
	if err != nil {
		return err
	}
	switch {
	case !others:
		i.Share = 1
	case i.Share == 1:
		i.Share = 0.5
	}
	kinds := i.schedules()
	if len(kinds) == 1 { // there is nothing to choose
		i.schedule, err = i.validSchedule(cmp.Or(i.schedule, kinds[0]))
		return err
	}
	i.schedule, err = i.ask.ask(ctx, "Run every night at 02:10, by "+strings.Join(kinds, " or "), cmp.Or(i.schedule, kinds[0]),
		i.validSchedule)
	return err
}

const typedHere = "this terminal"

// askService asks for the address and the key until a request succeeds.
func (i *initial) askService(ctx context.Context) error {
	keep := i.keyOfSettings() == nil
	for address, key := true, true; ; {
		var err error
		if address {
			if i.BaseURL, err = i.ask.ask(ctx, "Address of the service, e.g. https://api.example.com", i.BaseURL, i.validAddress); err != nil {
				return err
			}
		}
		if i.was != "" && config.ServiceOf(i.BaseURL) != i.was { // the key of one address is not sent to another
			keep, key = false, key || i.from != typedHere
		}
		if key {
			if err = i.askKey(ctx, keep); err != nil {
				return err
			}
		}
		err = i.test(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return interrupted()
		}
		i.ask.complain(err)
		switch address, key = blamed(err); {
		case key:
			keep = false
		case !address: // neither is at fault
			again, err := i.ask.agree(ctx, "Try again?", true)
			if err != nil {
				return err
			}
			if !again {
				return cli.Fail(cli.ExitFailed, errors.New("the key was not tested; nothing was written"), "run extract init again later")
			}
		}
	}
}

// askKey asks for the key; keep allows that of the settings.
func (i *initial) askKey(ctx context.Context, keep bool) error {
	question := "API key (not shown)"
	if keep {
		question = "API key (not shown; Enter keeps that of " + i.from + ")"
	}
	typed, err := i.ask.secret(ctx, question, func(text string) (string, error) {
		if text == "" && keep {
			return "", nil
		}
		return i.validKey(text)
	})
	if typed != "" {
		i.key, i.from = typed, typedHere
		i.Secrets.Add(typed)
	}
	return err
}

// keyOfSettings takes the key named by the settings.
func (i *initial) keyOfSettings() error {
	if err := i.OneService(); err != nil {
		return err
	}
	key, from, err := i.APIKey()
	i.Secrets.Add(key)
	if err != nil {
		return err
	}
	if i.from = from; strings.HasPrefix(from, config.EnvKey) {
		i.key = key // the nightly run does not have this variable
	} else {
		i.stored = key
	}
	return nil
}
