package extractcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/words"
)

const aboutInit = `init asks for the service's address, the API key, the warehouse, the time zone, the currency and
whether other programs use the same request limits. It tests the key with exactly one request,
estimates the first run from the answer, and writes callhouse.toml and a file with the key (mode
0600). It shows what it will write and asks before it does. Existing values are the defaults, so
it can be run again to change them. At the end it prints a line for cron and units for systemd,
of which one starts a run every night.

Run by root it writes to /etc/callhouse, for the user callhouse if there is one. Run by anybody else
it writes to that user's own folder of configurations.

With --yes it asks nothing: values come from flags, the environment and the existing file, and the
key from CALLHOUSE_API_KEY, --api-key-file or --api-key-stdin. It then replaces an existing file
with other content only with --replace.

Exit codes: 0 done; 1 the test failed or a file cannot be written; 2 wrong use, or a configuration
that this version does not understand; 130 interrupted. Unless it is 0, nothing was written.`

// initCommand returns the command init.
func initCommand(s *settings.Settings) *cobra.Command {
	i := &initial{Settings: s}
	cmd := &cobra.Command{
		Use: "init", Short: "Set up callhouse: ask, test the key, write the configuration", Long: aboutInit,
		Example: `  extract init
  extract init --yes --base-url https://api.example.com --api-key-stdin < key`,
		Args: cli.NoArgs,
	}
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		i.target = forgetMissing(s)
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
		i.stdin, i.stdout, i.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
		return i.run(cmd.Context())
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&i.yes, "yes", false, "ask nothing; for scripts")
	fl.BoolVar(&i.piped, "api-key-stdin", false, "read the API key from stdin")
	fl.BoolVar(&i.replace, "replace", false, "with --yes: replace existing files with other content")
	fl.StringVar(&i.currency, "currency", "", "`CODE` of the currency of costs, e.g. KRW")
	return cmd
}

// forgetMissing drops a named configuration file that does not exist yet, and returns its path.
func forgetMissing(s *settings.Settings) string {
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
	yes, piped, replace bool
	currency            string
	stdin               io.Reader
	stdout, stderr      io.Writer
	ask                 *prompter

	system   bool   // run by root
	owner    string // user of the nightly run, if root sets it up for another
	uid, gid int    // of the owner
	house    string // default of the warehouse

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
	files, err := i.files()
	if err != nil {
		return err
	}
	i.first()
	if err := i.agreed(ctx, files); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.save(i.uid, i.gid); err != nil {
			return settings.Explain(err)
		}
	}
	if err := i.makeHouse(); err != nil {
		return settings.Explain(err)
	}
	return i.next()
}

// find determines the file to write, and whose it is.
func (i *initial) find() error {
	place, home := i.Env.Own, i.Env.Get("HOME")
	i.system, i.house = os.Geteuid() == 0, filepath.Join(home, "callhouse")
	if i.system {
		place, i.house = i.Env.Machine, "/var/lib/callhouse"
		if u, err := user.Lookup("callhouse"); err == nil {
			uid, uerr := strconv.Atoi(u.Uid)
			gid, gerr := strconv.Atoi(u.Gid)
			if err := errors.Join(uerr, gerr); err != nil {
				return err
			}
			i.owner, i.uid, i.gid = u.Username, uid, gid
		}
	} else if home == "" {
		return cli.Usage("set HOME, or run it as root to set up the machine", "the user has no home folder")
	}
	if i.target == "" {
		i.target = place
		if i.File != nil {
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

// given takes all values without questions.
func (i *initial) given(ctx context.Context) error {
	var err error
	if i.BaseURL, err = validAddress(i.BaseURL); err != nil {
		return err
	}
	if i.piped {
		raw, err := io.ReadAll(io.LimitReader(i.stdin, 64<<10))
		if err != nil {
			return fmt.Errorf("read the API key from stdin: %w", err)
		}
		i.key, i.from = strings.TrimSpace(string(raw)), "stdin"
		if err := validKey(i.key); err != nil {
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
	return i.test(ctx)
}

// asked asks for all values.
func (i *initial) asked(ctx context.Context) error {
	words.Fprintf(i.stderr, "This sets up callhouse in %s. Enter accepts the value in [brackets]. "+
		"Ctrl-C stops; nothing is written before the end.\n\n", i.target)
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
	switch {
	case err != nil:
		return err
	case !others:
		i.Share = 1
	case i.Share == 1:
		i.Share = 0.5
	}
	return nil
}

const typedHere = "this terminal"

// askService asks for the address and the key until a request succeeds.
func (i *initial) askService(ctx context.Context) error {
	keep := i.keyOfSettings() == nil
	for {
		var err error
		if i.BaseURL, err = i.ask.ask(ctx, "Address of the service, e.g. https://api.example.com", i.BaseURL, validAddress); err != nil {
			return err
		}
		if i.from != typedHere && i.was != "" && config.ServiceOf(i.BaseURL) != i.was { // the key of one address is not sent to another
			keep = false
		}
		question := "API key (not shown)"
		if keep {
			question = "API key (not shown; Enter keeps that of " + i.from + ")"
		}
		typed, err := i.ask.secret(ctx, question, func(text string) (string, error) {
			if text == "" && keep {
				return "", nil
			}
			return text, validKey(text)
		})
		if err != nil {
			return err
		}
		if typed != "" {
			i.key, i.from = typed, typedHere
			i.Secrets.Add(typed)
		}
		if err = i.test(ctx); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return interrupted()
		}
		i.ask.complain(err)
		keep = !cli.Is[*api.AuthError](err)
	}
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

func (i *initial) service() api.Config {
	return api.Config{BaseURL: i.BaseURL, Key: api.Secret(cmp.Or(i.key, i.stored)), KeySource: i.from, Clock: i.Clock,
		PerSecond: i.PerSecond, PerMinute: i.PerMinute, Share: i.Share, Version: cli.Version()}
}

// test sends the one request.
func (i *initial) test(ctx context.Context) error {
	words.Fprintf(i.stderr, "Testing with one request … ")
	var err error
	if i.calls, err = crawler.Try(ctx, i.service()); err != nil {
		words.Fprintln(i.stderr, "failed.")
		return explainTest(err)
	}
	if i.calls < 0 {
		words.Fprintln(i.stderr, "the key works.")
		return nil
	}
	words.Fprintf(i.stderr, "the key works. The service has %s.\n", cli.Plural(i.calls, "call"))
	return nil
}

// explainTest adds a hint to the error of the test.
func explainTest(err error) error {
	f, answered := errors.AsType[*api.RequestError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return interrupted()
	case cli.Is[*api.AuthError](err):
		return cli.Fail(cli.ExitFailed, err, "check the key in the service's dashboard; nothing was written")
	case answered && f.Status == 429:
		wait := "a minute"
		if f.Wait() > 0 {
			wait = cli.Clock(f.Wait())
		}
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the request limits are used up by other programs (%w)", err),
			"wait "+wait+" and try again; nothing was written")
	case answered:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the service fails (%w)", f), "try again later; nothing was written")
	}
	err = settings.Explain(err)
	return cli.Fail(cli.Code(err), err, cli.Hint(err))
}

// oneNight is the longest estimate that still counts as a single night.
const oneNight = 6 * time.Hour

// first prints the estimate of the first run.
func (i *initial) first() {
	if i.calls < 0 {
		return
	}
	cfg, r := i.service(), i.firstRun()
	words.Fprintf(i.stderr, "\nThe first run takes %s requests (%s) for calls: few if the service has v2 pages, else one for\n"+
		"each call that connected. Agents and other resources come on top.\n", between(r, humanize.Comma),
		between(r, func(n int64) string { return cli.Clock(crawler.Takes(&cfg, n)) }))
	if i.long() && i.MaxDuration == 0 {
		words.Fprintln(i.stderr, `max_duration = "6h" spreads it over several nights, if necessary.`)
	}
}

// firstRun returns the requests of the first run.
func (i *initial) firstRun() crawler.Range {
	p := crawler.First(i.calls)
	if i.ListOnly {
		p.Transcripts = crawler.Range{}
	}
	return p.Requests()
}

// long reports whether the first run may take longer than one night.
func (i *initial) long() bool {
	cfg := i.service()
	return i.calls >= 0 && crawler.Takes(&cfg, i.firstRun().Most) > oneNight
}

// newFile is a file to write.
type newFile struct {
	what, path string
	text       []byte
	mode       fs.FileMode
	own        bool   // it belongs to the user of the nightly run, not only to their group
	old        []byte // its present text, which is kept; nil: none, or a secret
	exists     bool
}

// files returns the files to write.
func (i *initial) files() (out []newFile, err error) {
	keyFile := i.APIKeyFile
	if keyFile != "" {
		if keyFile, err = filepath.Abs(keyFile); err != nil {
			return nil, err
		}
	}
	if i.key != "" {
		keyFile = cmp.Or(keyFile, filepath.Join(filepath.Dir(i.target), "key"))
		f := newFile{what: "store the API key in " + keyFile + " (mode 0600)", path: keyFile, text: []byte(i.key + "\n"), mode: 0o600, own: true}
		old, err := os.ReadFile(keyFile)
		st, serr := os.Stat(keyFile)
		f.exists = len(old) > 0
		if err != nil || serr != nil || !bytes.Equal(old, f.text) || st.Mode().Perm() != f.mode {
			out = append(out, f)
		}
	}
	if keyFile == "" {
		return nil, cli.Usage("pass the key with --api-key-stdin", "the key of %s cannot be stored", i.from)
	}
	text, err := i.configured(keyFile)
	if err != nil || text == i.text {
		return out, err
	}
	f := newFile{what: "write the configuration " + i.target, path: i.target, text: []byte(text), mode: 0o600, exists: i.text != ""}
	if i.owner != "" {
		f.mode = 0o640
	}
	if st, err := os.Stat(i.target); err == nil {
		f.mode = st.Mode().Perm()
	}
	if f.exists {
		f.old = []byte(i.text)
		f.what += " (the old file is kept as " + i.target + ".old)"
	}
	return append(out, f), nil
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
	text := cmp.Or(i.text, "# Settings of callhouse, written by extract init. extract config --example prints every key.\n")
	return i.Env.Edit(i.target, text, set)
}

// agreed shows what will be written and asks for consent.
func (i *initial) agreed(ctx context.Context, files []newFile) error {
	if len(files) == 0 {
		words.Fprintf(i.stderr, "\nEverything is set up like this already.\n")
		return nil
	}
	words.Fprintf(i.stderr, "\ninit will:\n")
	for _, f := range files {
		words.Fprintf(i.stderr, "  - %s\n", f.what)
	}
	if !i.yes {
		words.Fprintln(i.stderr)
		yes, err := i.ask.agree(ctx, "Continue?", true)
		if err == nil && !yes {
			err = cli.Fail(cli.ExitFailed, errors.New("nothing was written"), "")
		}
		return err
	}
	for _, f := range files {
		if f.exists && !i.replace {
			return cli.Usage("--replace replaces it; nothing was written", "it exists already: %s", f.path)
		}
	}
	return nil
}

// save writes the file, and a copy of the old one. A uid other than 0 is that of the nightly run.
func (f *newFile) save(uid, gid int) error {
	if real, err := filepath.EvalSymlinks(f.path); err == nil {
		f.path = real
	}
	dir := filepath.Dir(f.path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		mode := fs.FileMode(0o700)
		if uid != 0 {
			mode = 0o750
		}
		err := os.MkdirAll(dir, mode)
		if err == nil && uid != 0 {
			err = os.Chown(dir, 0, gid)
		}
		if err != nil {
			return err
		}
	}
	if !f.own {
		uid = 0
	}
	if f.old != nil {
		if err := replace(f.path+".old", f.old, f.mode, uid, gid); err != nil {
			return err
		}
	}
	return replace(f.path, f.text, f.mode, uid, gid)
}

// replace replaces a file atomically, by a rename.
func replace(path string, text []byte, mode fs.FileMode, uid, gid int) error {
	out, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	if err == nil {
		err = out.Chmod(mode)
	}
	if err == nil && gid != 0 {
		err = out.Chown(uid, gid)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		_ = os.Remove(out.Name())
	}
	return err
}

// makeHouse makes the warehouse's folder for the user of the nightly run, who may be unable to.
func (i *initial) makeHouse() error {
	if _, err := os.Stat(i.Warehouse); i.owner == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Mkdir(i.Warehouse, 0o700); err != nil {
		return err
	}
	return os.Chown(i.Warehouse, i.uid, i.gid)
}
