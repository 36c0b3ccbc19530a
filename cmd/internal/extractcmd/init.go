package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/currency"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/words"
)

const aboutInit = `init asks for the service's address, the API key, the warehouse, the time zone, the currency and
the share of the request limits to use. It tests the key with one request, shows what it will write,
asks, and writes callhouse.toml and a file with the key (mode 0600). It never changes an existing
configuration. At the end it prints what starts a run every night on this machine.

Run by root it writes to /etc/callhouse. The key and the warehouse belong to the owner of the chosen
folder, or else to the user callhouse if there is one. Run by anybody else it writes to that user's
own folder of configurations.

With --yes it asks nothing: values come from flags and the environment, and the key from
CALLHOUSE_API_KEY, --api-key-file or --api-key-stdin.

Exit codes: 0 done; 1 the test failed or a file cannot be written; 2 wrong use, or a configuration
exists already; 130 interrupted. Unless it is 0, no configuration was written.`

// initCommand returns the command init.
func initCommand(s *settings) *cobra.Command {
	i := &initial{settings: s}
	cmd := &cobra.Command{
		Use: "init", Short: "Set up callhouse: ask, test the key, write the configuration", Long: aboutInit,
		Example: `  extract init
  extract init --yes --base-url https://api.example.com --api-key-stdin < key`,
		Args: cli.NoArgs,
	}
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return s.Take(cmd.Flags(), config.Extract) // without a file, which must not exist yet
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		i.stdin, i.stdout, i.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
		return i.run(cmd.Context())
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&i.yes, "yes", false, "ask nothing; for scripts")
	fl.BoolVar(&i.piped, "api-key-stdin", false, "read the API key from stdin")
	fl.StringVar(&i.currency, "currency", "", "`CODE` of the currency of costs, e.g. KRW")
	return cmd
}

// initial is one run of init.
type initial struct {
	*settings
	yes, piped     bool
	currency       string
	stdin          io.Reader
	stdout, stderr io.Writer
	ask            *prompter // nil with --yes

	target  string // configuration file to write
	key     string
	from    string       // where the key came from, for messages
	keyFile string       // file of the key
	store   bool         // the key is not in that file yet
	owner   config.Owner // of the key and the warehouse, if root runs init
}

func (i *initial) run(ctx context.Context) error {
	if err := i.find(); err != nil {
		return err
	}
	if !i.yes {
		in, ok := i.stdin.(*os.File)
		if !ok || !cli.IsTerminal(i.stdin) || !cli.CanDraw(i.stderr) {
			return cli.Usage("give the values as flags or environment variables, with --yes: see extract init --help",
				"init asks questions, which takes a terminal")
		}
		i.ask = newPrompter(ctx, in, i.stderr)
		words.Fprintf(i.stderr, "This sets up callhouse in %s.\n"+
			"Enter accepts the value in [brackets]. Ctrl-C stops before anything is written.\n\n", i.target)
	}
	if err := i.service(ctx); err != nil {
		return err
	}
	if err := i.values(); err != nil {
		return err
	}
	words.Fprintf(i.stderr, "\ninit will:\n")
	if i.store {
		words.Fprintf(i.stderr, "  - store the API key in %s (mode 0600)\n", i.keyFile)
	}
	words.Fprintf(i.stderr, "  - write the configuration %s\n", i.target)
	if i.owner.UID != 0 {
		words.Fprintf(i.stderr, "  - give the key and %s to the user %s,\n    as whom commands of root go on\n", i.Warehouse, i.owner.Name)
	}
	if !i.yes {
		words.Fprintln(i.stderr)
		if yes, err := i.ask.agree("Continue?"); err != nil || !yes {
			return cmp.Or(err, cli.Fail(cli.ExitFailed, errors.New("nothing was written"), ""))
		}
	}
	if err := i.write(); err != nil {
		return explain(err)
	}
	return i.next()
}

// find determines the file to write and the defaults of the values, and checks what would stop init after the questions.
func (i *initial) find() (err error) {
	place, warehouse := i.Env.Own, filepath.Join(i.Env.Get("HOME"), "callhouse")
	if other, _ := holdsOthers(warehouse); other { // a clone of the sources, perhaps
		warehouse += "-warehouse"
	}
	if os.Geteuid() == 0 {
		place, warehouse = i.Env.Machine, "/var/lib/callhouse"
	} else if i.Env.Get("HOME") == "" {
		return cli.Usage("set HOME, or run it as root to set up the machine", "the user has no home folder")
	}
	named := cmp.Or(i.Path, i.Env.Get(config.EnvFile))
	if i.target = cmp.Or(named, place); i.target == "" {
		return cli.Usage("name it with --config FILE", "no place for the configuration file")
	}
	if i.Profile != "" {
		return cli.Usage("extract config --example shows how to write profiles", "init writes a file without profiles")
	}
	if i.target, err = filepath.Abs(i.target); err != nil {
		return err
	}
	files := []string{i.target}
	if at := slices.Index(i.Env.Files, place); named == "" && at > 0 {
		files = i.Env.Files[:at+1] // the first of them is read
	}
	for _, path := range files {
		if err := checkAbsent(path, "edit it"); err != nil {
			return err
		}
	}
	if i.keyFile = filepath.Join(filepath.Dir(i.target), "key"); i.APIKeyFile == "" {
		if err := checkAbsent(i.keyFile, "pass it with --api-key-file"); err != nil {
			return err
		}
	}
	if i.Settings.From("warehouse").Source == config.FromDefault {
		i.Warehouse = warehouse
	}
	if i.Settings.From("tz").Source == config.FromDefault {
		i.TZ = zoneOf(i.Env)
	}
	i.currency = cmp.Or(i.currency, i.Env.Get("CALLHOUSE_CURRENCY"))
	if err := i.checkOwner(); err != nil {
		return err
	}
	if i.Env.Root && i.owner.UID == 0 {
		words.Fprintf(i.stderr, "This machine has no user callhouse: everything will belong to root and run as\n"+
			"root. To give it a user of its own, stop here, and begin again after:\n"+
			"  useradd --system --home-dir /var/lib/callhouse --shell /usr/sbin/nologin callhouse\n\n")
	}
	return nil
}

// checkOwner determines whose the files of root's init are, and whether that user's runs can start.
func (i *initial) checkOwner() error {
	if !i.Env.Root {
		return nil
	}
	i.owner = config.OwnerOf(i.Warehouse)
	if i.owner.UID == 0 {
		i.owner = config.OwnerOf(filepath.Dir(i.target))
	}
	if named, err := user.Lookup("callhouse"); i.owner.UID == 0 && err == nil && !layout.IsWarehouse(i.Warehouse) {
		i.owner = config.OwnerAs(named)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if closed, mode := i.owner.MayNot(program); closed != "" {
		return cli.Usage(fmt.Sprintf("install it first: install -m 0755 %s %s /usr/local/bin/",
			words.Shell(filepath.Join(filepath.Dir(program), "extract")), words.Shell(filepath.Join(filepath.Dir(program), "query"))),
			"the user %s cannot start %s: %s is closed to others (mode %04o)", i.owner.Name, program, closed, mode)
	}
	for _, path := range []string{i.Warehouse, i.target} {
		if closed, mode := i.owner.MayNot(resolved(filepath.Dir(path))); closed != "" {
			return cli.Usage("open it to that user, or name another place; if it is empty, remove it",
				"the user %s cannot reach %s: %s is closed to others (mode %04o)", i.owner.Name, path, closed, mode)
		}
	}
	return nil
}

// checkAbsent returns an error if a file exists, with a hint. An empty one, too: it could be readable by others.
func checkAbsent(path, hint string) error {
	if _, err := os.Stat(path); err == nil {
		return cli.Usage(hint+", or remove it; nothing was written", "it exists already: %s", path)
	}
	return nil // writing it reports any other error
}

// values takes the values besides address and key from the settings, or asks for them.
func (i *initial) values() error {
	share := strconv.FormatFloat(i.Share, 'g', -1, 64)
	for _, v := range []struct {
		question string
		to       *string
		check    func(string) (string, error)
	}{
		{"Folder of the warehouse", &i.Warehouse, i.validWarehouse},
		{"Time zone of days and reports", &i.TZ, validZone},
		{"Currency of costs, e.g. KRW or USD (optional)", &i.currency, validCurrency},
		{"Share of the request limits (below 1 if other programs use them)", &share, i.validShare},
	} {
		var err error
		if i.ask == nil {
			*v.to, err = v.check(*v.to)
		} else {
			*v.to, err = i.ask.ask(v.question, *v.to, v.check)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// service takes the address and the key from the settings and tests them, or asks for both until a request succeeds.
func (i *initial) service(ctx context.Context) (err error) {
	if i.ask == nil {
		if i.BaseURL, err = validAddress(i.BaseURL); err != nil {
			return err
		}
	}
	if place, err := i.KeyPlace(); i.ask == nil || err != nil || place.Source() != "" {
		if err := i.keyOfSettings(place); err != nil {
			return err
		}
	}
	if i.ask == nil {
		return i.test(ctx)
	}
	given := config.ServiceOf(i.BaseURL)
	for {
		if i.BaseURL, err = i.ask.ask("Address of the service, e.g. https://api.example.com", i.BaseURL, validAddress); err != nil {
			return err
		}
		if i.from != "this terminal" && given != "" && given != i.BaseURL { // the key of one address is not sent to another
			i.key = ""
		}
		question := "API key (not shown)"
		if i.key != "" {
			question = "API key (not shown; Enter keeps that of " + i.from + ")"
		}
		typed, err := i.ask.until(question, true, func(text string) (string, error) {
			if text == "" && i.key != "" {
				return "", nil
			}
			return text, validKey(text)
		})
		if err != nil {
			return err
		}
		if typed != "" {
			i.useKey(typed, "this terminal")
		}
		if err = i.test(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		i.ask.printError(err)
		if cli.Is[*api.AuthError](err) {
			i.key = ""
		}
	}
}

// keyOfSettings takes the key from stdin, or from its place in the settings.
func (i *initial) keyOfSettings(place config.KeyPlace) error {
	if i.piped {
		raw, err := io.ReadAll(io.LimitReader(i.stdin, 64<<10))
		if err != nil {
			return fmt.Errorf("read the API key from stdin: %w", err)
		}
		i.useKey(strings.TrimSpace(string(raw)), "stdin")
		return validKey(i.key)
	}
	if err := i.OneService(); err != nil {
		return err
	}
	key, from, err := i.APIKey()
	i.useKey(key, from)
	if err == nil && place.Env == "" { // in a file, of which the nightly run needs the name alone
		i.store = false
		i.keyFile, err = filepath.Abs(i.APIKeyFile)
	}
	return err
}

// useKey takes a key that is to be stored next to the configuration.
func (i *initial) useKey(key, from string) {
	i.Secrets.Add(key)
	i.key, i.from, i.keyFile, i.store = key, from, filepath.Join(filepath.Dir(i.target), "key"), true
}

// test sends the one request.
func (i *initial) test(ctx context.Context) error {
	words.Fprintf(i.stderr, "Testing with one request … ")
	calls, err := crawler.Try(ctx, api.Config{BaseURL: i.BaseURL, Key: api.Secret(i.key), KeySource: i.from, Clock: i.Clock,
		PerSecond: i.PerSecond, PerMinute: i.PerMinute, Share: i.Share, Version: cli.Version()})
	switch {
	case err != nil:
		words.Fprintln(i.stderr, "failed.")
		return explainTest(err)
	case calls < 0:
		words.Fprintln(i.stderr, "the key works.")
	default:
		words.Fprintf(i.stderr, "the key works. The service has %s.\n", cli.Plural(calls, "call"))
	}
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
	case answered:
		what := "the service fails"
		if f.Status == 429 {
			what = "the request limits are used up by other programs"
		}
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%s (%w)", what, f), "try again later; nothing was written")
	}
	hint, _, _ := strings.Cut(cli.Hint(explain(err)), ", then: ") // a run
	return cli.Fail(cli.ExitFailed, err, hint+"; nothing was written")
}

// write writes the files, and makes the warehouse's folder.
func (i *initial) write() error {
	text := "# Settings of callhouse, written by extract init. extract config --example prints every key.\n" +
		config.Line("base_url", i.BaseURL) + config.Line("api_key_file", i.keyFile) + config.Line("warehouse", i.Warehouse) +
		config.Line("tz", i.TZ)
	if i.currency != "" {
		text += config.Line("currency", i.currency)
	}
	if i.Share < 1 {
		text += config.Line("share", strconv.FormatFloat(i.Share, 'g', -1, 64))
	}
	dir := filepath.Dir(i.target)
	_, err := os.Stat(dir)
	fresh := err != nil
	if err := cmp.Or(makeFolder(dir), makeFolder(i.Warehouse)); err != nil {
		return err
	}
	if i.store {
		if err := os.WriteFile(i.keyFile, []byte(i.key+"\n"), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(i.target, []byte(text), 0o600); err != nil || i.owner.UID == 0 {
		return err
	}
	if fresh {
		err = errors.Join(os.Chown(dir, 0, i.owner.GID), os.Chmod(dir, 0o750))
	}
	if i.store {
		err = errors.Join(err, os.Chown(i.keyFile, i.owner.UID, i.owner.GID))
	}
	return errors.Join(err, os.Chown(i.Warehouse, i.owner.UID, i.owner.GID), os.Chown(i.target, 0, i.owner.GID), os.Chmod(i.target, 0o640))
}

// makeFolder makes a folder that only its owner may enter. Missing folders around it are open to all,
// whatever the umask, because that owner may be another user.
func makeFolder(dir string) error {
	up := filepath.Dir(dir)
	if _, err := os.Stat(up); errors.Is(err, fs.ErrNotExist) {
		if err := cmp.Or(makeFolder(up), os.Chmod(up, 0o755)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// validAddress adds the scheme that is usually not typed.
func validAddress(text string) (string, error) {
	if text == "" {
		return "", cli.Usage("give it with --base-url: the part before /v3, e.g. https://api.example.com", "no service address")
	}
	if !strings.Contains(text, ":/") && !api.MayHoldSecrets(text) {
		scheme := "https://"
		if u, err := url.Parse("//" + text); err == nil && config.OnThisMachine(u.Hostname()) {
			scheme = "http://"
		}
		text = scheme + strings.TrimLeft(text, "/")
	}
	if err := api.CheckBaseURL(text); err != nil {
		return "", cli.Usage("use the part before /v3, e.g. https://api.example.com", "%w", err)
	}
	return config.ServiceOf(text), nil
}

func validKey(text string) error {
	cfg := api.Config{Key: api.Secret(text), PerSecond: 1, PerMinute: 1, Share: 1}
	if err := cfg.Check(); err != nil {
		return cli.Usage("paste the key of the service's dashboard", "%w", err)
	}
	return nil
}

func (i *initial) validWarehouse(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		text = filepath.Join(i.Env.Get("HOME"), rest)
	}
	path, err := filepath.Abs(text)
	if err != nil || text == "" {
		return "", cli.Usage("for example /var/lib/callhouse", "no folder for the warehouse")
	}
	switch other, err := holdsOthers(path); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", cli.Usage("name a folder that this user can write to", "%w", err)
	case other:
		return "", cli.Usage("name a new or empty folder (--warehouse), e.g. "+filepath.Join(path, "callhouse"), "%s holds other files", path)
	}
	i.Warehouse = path
	return path, i.checkOwner()
}

// holdsOthers reports whether a folder holds files, and is no warehouse.
func holdsOthers(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	return !layout.IsWarehouse(path) && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { // not of a new volume's file system
		return e.Name() != "lost+found" && !strings.HasPrefix(e.Name(), ".")
	}), err
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

func validZone(text string) (string, error) {
	_, err := cli.Zone(text)
	return text, err
}

func validCurrency(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	unit, err := currency.ParseISO(text)
	if err != nil {
		return "", cli.Usage("use an ISO 4217 code, e.g. KRW or USD", "unknown currency %q", text)
	}
	return unit.String(), nil
}

// validShare accepts a part of 1, and a percentage.
func (i *initial) validShare(text string) (string, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		share /= 100
	}
	if err != nil {
		return "", cli.Usage("write a number such as 0.5", "%q is not a number", text)
	}
	i.Share = share
	return text, i.checkBudget()
}
