package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/test"
)

// flagsOf returns flags for all settings of a program, like its commands.
func flagsOf(t *testing.T, program Program, args ...string) *pflag.FlagSet {
	t.Helper()
	return takeFlags(t, new(Config), program, args...)
}

// takeFlags returns such flags for one configuration.
func takeFlags(t *testing.T, c *Config, program Program, args ...string) *pflag.FlagSet {
	t.Helper()
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.add(f, program, false)
	c.add(f, program, true)
	test.OK(t, f.Parse(args))
	return f
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fileName)
	test.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// same reports whether two texts are the same value of a key.
func same(k *Key, a, b string) bool {
	if k.Kind == Duration {
		x, xerr := cli.ParseSpan(a)
		y, yerr := cli.ParseSpan(b)
		return xerr == nil && yerr == nil && x == y
	}
	return a == b
}

// none is an environment without settings.
var none Environment

// with returns an environment with variables.
func with(pairs ...string) Environment { return Environment{Vars: Variables(pairs)} }

// An error in a file names the key and has a hint, but nothing of the value.
func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ name, text, says, hint string }{
		{"unknown key", "quiet = true\nwarehose = \"x\"", `: unknown key "warehose"`, "did you mean: warehouse?"},
		{"dashes", "base-url = \"SECRET\"", `: unknown key "base-url"`, "did you mean: base_url?"},
		{"unknown table", "\n[extract]\nquiet = true", `: unknown key "extract"`, "--example"},
		{"unknown in a profile", "[profiles.a]\nbase_ulr = \"x\"", `: unknown key "profiles.a.base_ulr"`, "did you mean: base_url?"},
		{"deeper", "[profiles.a]\n[profiles.a.limits]\nshare = 1", `: unknown key "profiles.a.limits"`, ""},
		{"string for integer", "requests_per_second = \"SECRET\"", ": requests_per_second must be an integer", ""},
		{"float for integer", "requests_per_second = 1.5", ": requests_per_second must be an integer", ""},
		{"too large", "requests_per_second = 99999999999", ": requests_per_second must be an integer", ""},
		{"integer for string", "warehouse = 7", ": warehouse must be a string", ""},
		{"bare duration", "max_duration = 72", `: max_duration must be a duration in quotes, e.g. "6h"`, ""},
		{"bad duration", "max_duration = \"SECRET\"", ": max_duration must be a duration", ""},
		{"string for boolean", "quiet = \"yes\"", ": quiet must be true or false", ""},
		{"string for list", "mask = \"from_number\"", `: mask must be a list of strings`, ""},
		{"list of numbers", "mask = [1]", ": mask must be a list of strings", ""},
		{"date for string", "since = 2026-11-01", ": since must be a string", ""},
		{"a key itself", "# keys\napi_key = \"SECRET\"", ": the configuration must not contain an API key", "api_key_file"},
		{"a key in a profile", "[profiles.a]\ntoken = \"SECRET\"", ": the configuration must not contain an API key, as profiles.a.token", "0600"},
		{"a key with dots", "api.key = \"SECRET\"", `: unknown key "api"`, ""},
		{"not TOML", "quiet = true\nwarehouse = SECRET", ":2: invalid TOML", "in quotes"},
		{"said twice", "quiet = true\nquiet = false", "invalid TOML", ""},
		{"profiles are no table", "profiles = 1", `: unknown key "profiles"`, ""},
		{"profile is no table", "profiles.a = 1", ": profiles.a must be a table", ""},
		{"profile in double brackets", "[[profiles.a]]", ": profiles.a must be a table", "[profiles.acme]"},
		{"name of a profile", "[profiles.\"a/b\"]", `: invalid profile name "a/b"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := none.Open(written(t, c.text))
			var e *cli.Error
			if !errors.As(err, &e) || e.Code != cli.ExitUsage {
				t.Fatalf("error %v, want one of wrong use", err)
			}
			if !strings.Contains(e.Error(), c.says) || !strings.Contains(e.Hint, c.hint) || strings.Contains(e.Error()+e.Hint, "SECRET") {
				t.Errorf("it says %q, hint %q", e, e.Hint)
			}
		})
	}
}

// Every setting can be given in every way, with the right precedence.
func TestPrecedence(t *testing.T) {
	values := map[Kind][5]string{ // default, top, environment, profile, flag
		Text: {"", "t1", "t2", "t3", "t4"}, Path: {"", "/p1", "/p2", "/p3", "/p4"}, Integer: {"0", "11", "12", "13", "14"},
		Number: {"0", "0.1", "0.2", "0.3", "0.4"}, Boolean: {"false", "true", "false", "true", "false"},
		Duration: {"0s", "1h", "2d", "3h30m", "4h"}, List: {"", "a,b", "c", "d,e", "f"},
	}
	for i := range Keys {
		k := &Keys[i]
		v := values[k.Kind]
		if w := k.Words; w != nil {
			v = [5]string{w[0], w[1], w[0], w[1], w[0]}
		}
		if k.Default != "" {
			v[FromDefault] = flagsOf(t, k.For).Lookup(k.Flag()).Value.String()
		}
		path := written(t, "# a comment\n"+k.Name+" = "+k.literal(v[FromTop])+"\n[profiles.p]\n"+k.Name+" = "+k.literal(v[FromProfile])+"\n[profiles.q]\n")
		f, err := none.Open(path)
		test.OK(t, err)
		check := func(file *File, profile string, want Source, env string, args ...string) {
			t.Helper()
			got, err := with(k.Env()+"="+env).apply(flagsOf(t, k.For, args...), k.For, file, profile)
			if err != nil {
				t.Fatalf("%s: %v", k.Name, err)
			}
			at := slices.IndexFunc(got, func(s Setting) bool { return s.Key == k })
			if at < 0 || !same(k, got[at].Value, v[want]) || got[at].From.Source != want {
				t.Errorf("%s: %+v, want %q from %d", k.Name, got, v[want], want)
				return
			}
			says := [...]string{"default", path, "environment variable " + k.Env(), "profile p of " + path, "flag --" + k.Flag()}[want]
			test.Same(t, says, got[at].From.String(), "%s: it came from", k.Name)
		}
		check(nil, "", FromDefault, "")
		check(f, "", FromTop, "")
		check(f, "p", FromProfile, "")
		check(f, "q", FromTop, "")
		check(f, "", FromEnv, v[FromEnv])
		check(f, "p", FromProfile, v[FromEnv])
		check(f, "q", FromEnv, v[FromEnv])
		check(f, "p", FromFlag, v[FromEnv], "--"+k.Flag()+"="+v[FromFlag])
	}
}

// A repeated list flag appends, and replaces the file's list.
func TestRepeatedFlags(t *testing.T) {
	f, err := none.Open(written(t, "mask = [\"summary\"]\n"))
	test.OK(t, err)
	for want, args := range map[string][]string{"summary": nil, "a": {"--mask", "a"}, "a,b,c": {"--mask", "a", "--mask=b,c"}} {
		c := new(Config)
		flags := takeFlags(t, c, Extract, args...)
		for range 2 { // as for consecutive commands of a shell
			if _, err := none.apply(flags, Extract, f, ""); err != nil || c.Mask != want {
				t.Errorf("%v: %q, %v", args, c.Mask, err)
			}
		}
	}
}

// A relative path starts at the file's folder, not the working directory.
func TestPathsOfTheFile(t *testing.T) {
	path := written(t, "warehouse = \"w\"\napi_key_file = \"/k\"\nmask_key_file = \"~/m\"")
	f, err := with("HOME=/home/me").Open(path)
	test.OK(t, err)
	for name, want := range map[string]string{"warehouse": filepath.Join(filepath.Dir(path), "w"), "api_key_file": "/k", "mask_key_file": "/home/me/m"} {
		test.Same(t, want, f.top[name], "%s", name)
	}
}

// Only the first file that exists is read.
func TestWhereTheFileIs(t *testing.T) {
	home, machine, here := t.TempDir(), t.TempDir(), t.TempDir()
	t.Chdir(here)
	at := func(dir string) string { return filepath.Join(dir, fileName) }
	env := Environment{Files: []string{fileName, at(home), at(machine)}}
	made := func(dir string) string {
		test.OK(t, os.WriteFile(at(dir), []byte("quiet = true"), 0o600))
		return at(dir)
	}
	is := func(want, named string) {
		t.Helper()
		f, err := env.Open(named)
		if err != nil || f == nil || f.Path != want {
			t.Fatalf("read %+v, %v, want %s", f, err, want)
		}
	}
	if f, err := env.Open(""); f != nil || err != nil {
		t.Errorf("without a file: %v, %v", f, err)
	}
	is(made(machine), "")
	is(made(home), "")
	made(here)
	is(fileName, "")
	other := made(t.TempDir())
	env.Vars = map[string]string{EnvFile: other}
	is(other, "")
	is(at(here), at(here))
	if _, err := env.Open(filepath.Join(here, "none")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a file that is named and is not there: %v", err)
	}
	if f, err := none.Open(""); f != nil || err != nil {
		t.Errorf("the zero environment has a file: %v, %v", f, err)
	}
}

// A file must be this user's or root's, and writable by nobody else but the user's own group. That also
// applies to the folder of one that is read only because it is in the current folder.
func TestWhoseFile(t *testing.T) {
	const other = 12345
	for name, c := range map[string]struct {
		file, folder fs.FileMode
		change       func(file, folder string) error
		says, hint   string // empty: it is read
	}{
		"ours":                       {file: 0o644, folder: 0o755},
		"private":                    {file: 0o600, folder: 0o700},
		"in a folder like /tmp":      {file: 0o600, folder: 0o777 | fs.ModeSticky},
		"the group may write it":     {file: 0o664, folder: 0o755, says: "others may write FILE (mode 0664)", hint: "chmod go-w FILE; or name it"},
		"everybody may write it":     {file: 0o602, folder: 0o755, says: "others may write FILE (mode 0602)", hint: "chmod go-w FILE; or name it"},
		"the group may replace it":   {file: 0o600, folder: 0o775, says: "others may write FOLDER (mode 0775)", hint: "chmod go-w FOLDER; or name it"},
		"everybody may replace it":   {file: 0o600, folder: 0o757, says: "others may write FOLDER (mode 0757)", hint: "chmod go-w FOLDER; or name it"},
		"another group may write it": {0o664, 0o755, func(file, _ string) error { return os.Chown(file, -1, other) }, "others may write FILE (mode 0664)", ""},
		"another user's":             {0o644, 0o755, func(file, _ string) error { return os.Chown(file, other, -1) }, "FILE belongs to another user (12345)", "--config callhouse.toml"},
		"in another user's folder":   {0o644, 0o755, func(_, folder string) error { return os.Chown(folder, other, -1) }, "FOLDER belongs to another user (12345)", "--config callhouse.toml"},
		"another user's in /tmp":     {0o644, 0o777 | fs.ModeSticky, func(file, _ string) error { return os.Chown(file, other, -1) }, "FILE belongs to another user", "--config callhouse.toml"},
		"another user's link to ours": {0o644, 0o777 | fs.ModeSticky, func(file, folder string) error {
			return errors.Join(os.Rename(file, folder+"/real"), os.Symlink("real", file), os.Lchown(file, other, -1))
		}, "FILE belongs to another user", "--config callhouse.toml"},
		"a link into an open folder": {0o644, 0o755, func(file, folder string) error {
			return errors.Join(os.Mkdir(folder+"/open", 0o700), os.Chmod(folder+"/open", 0o777), //nolint:gosec // this is what is refused
				os.Rename(file, folder+"/open/real"), os.Symlink("open/real", file))
		}, "others may write FOLDER/open (mode 0777)", "chmod go-w FOLDER/open"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "another") && os.Geteuid() != 0 {
				t.Skip("only root may give files away")
			}
			folder, err := filepath.EvalSymlinks(t.TempDir())
			test.OK(t, err)
			file := filepath.Join(folder, fileName)
			err = errors.Join(os.WriteFile(file, []byte("quiet = true"), 0o600), os.Chmod(file, c.file), os.Chmod(folder, c.folder))
			if c.change != nil {
				err = errors.Join(err, c.change(file, folder))
			}
			test.OK(t, err)
			t.Chdir(folder)
			path := strings.NewReplacer("FILE", file, "FOLDER", folder)
			env := Environment{Files: []string{fileName}}
			f, err := env.Open("")
			var e *cli.Error
			switch refused := errors.As(err, &e) && e.Code == cli.ExitUsage; {
			case c.says == "" && (err != nil || f == nil):
				t.Errorf("it is not read: %v", err)
			case c.says != "" && (!refused || !strings.Contains(e.Error(), path.Replace(c.says)) || !strings.Contains(e.Hint, path.Replace(c.hint))):
				t.Errorf("%v, hint %q, want %q and %q", err, cli.Hint(err), path.Replace(c.says), path.Replace(c.hint))
			}
			cfg := Config{File: &File{Path: file}} // as by its name
			refused := slices.Contains([]string{"everybody may write it", "another group may write it", "another user's", "another user's in /tmp"}, name)
			if err := cfg.CheckFile(os.Geteuid()); (err != nil) != refused || refused && !strings.Contains(err.Error(), path.Replace(c.says)) {
				t.Errorf("by its name: %v", err)
			}
		})
	}
}

// A program reads the variables and file locations of its machine.
func TestSystem(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/xdg")
	t.Setenv("HOME", "/home/me")
	t.Setenv("CALLHOUSE_SHARE", "0.5")
	env := System()
	dir, err := os.UserConfigDir()
	if want := []string{fileName, filepath.Join(dir, "callhouse", fileName), "/etc/callhouse/callhouse.toml"}; err != nil || !slices.Equal(env.Files, want) {
		t.Errorf("places %q, want %q (%v)", env.Files, want, err)
	}
	test.Same(t, "0.5", env.Get("CALLHOUSE_SHARE"), "a variable")
}

// The commands in a hint keep the flags that chose the warehouse.
func TestHintsKeepFlags(t *testing.T) {
	path := written(t, "[profiles.a]")
	for _, c := range []struct{ args, hint, want string }{
		{"", "run: extract run", "run: extract run"},
		{"--warehouse=/a/b", "extract repair, then: extract run", "extract repair --warehouse /a/b, then: extract run --warehouse /a/b"},
		{"--warehouse=it's", "query sql 'SELECT 1' lists the ids", `query sql --warehouse 'it'\''s' 'SELECT 1' lists the ids`},
		{"--config=" + path + " --profile=a", "query alert says why", "query alert --config " + path + " --profile a says why"},
		{"--warehouse=w", "run: extract status --help", "run: extract status --help"},
		{"--warehouse=w", "query less at once; --memory of extracts", "query less at once; --memory of extracts"},
	} {
		var cfg Config
		root := &cobra.Command{}
		cfg.AddFlags(root, Extract)
		test.OK(t, root.ParseFlags(strings.Fields(c.args)))
		test.OK(t, cfg.Read(root.Flags(), Extract))
		test.Same(t, c.want, cfg.Again(c.hint), "%s", c.args)
	}
}

func TestProfile(t *testing.T) {
	path := written(t, "[profiles.acme]\n[profiles.globex]")
	for _, c := range []struct{ env, flag, want, says string }{
		{}, {"acme", "", "acme", ""}, {"", "globex", "globex", ""}, {"acme", "globex", "globex", ""}, {"", "gloibex", "", `unknown profile "gloibex"`},
	} {
		cfg := Config{Env: with(EnvProfile + "=" + c.env), Path: path, Profile: c.flag}
		err := cfg.Read(takeFlags(t, new(Config), Extract), Extract)
		if c.says == "" && (err != nil || cfg.Profile != c.want) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %q, %v", c, cfg.Profile, err)
		}
	}
	cfg := Config{Env: none, Profile: "acme"}
	if err := cfg.Read(takeFlags(t, new(Config), Extract), Extract); err == nil || !strings.Contains(err.Error(), "none was found") {
		t.Errorf("a profile without a file: %v", err)
	}
}

// The example changes no setting; with its comments removed it is a valid file as well.
func TestExample(t *testing.T) {
	f, err := none.Open(written(t, Example()))
	test.OK(t, err)
	if len(f.top) > 0 || len(f.Profiles) > 0 {
		t.Errorf("the example sets %v, profiles %v", f.top, f.Profiles)
	}
	full := regexp.MustCompile(`(?m)^# ([a-z_]+ = |\[)`).ReplaceAllString(Example(), "$1")
	f, err = none.Open(written(t, full))
	test.OK(t, err)
	for i := range Keys {
		k := &Keys[i]
		v, ok := f.top[k.Name]
		if !ok || k.Default != "" && k.Kind != Path && !same(k, v, k.Default) { // paths are relative to the file's folder
			t.Errorf("%s: the example has %q (%v), the default is %q", k.Name, v, ok, k.Default)
		}
	}
	test.Same(t, []string{"acme", "globex"}, f.Profiles, "profiles")
}

// docs/reference/configuration.md has the reference generated from the code.
func TestReference(t *testing.T) {
	test.GoldenPart(t, "../../../docs/reference/configuration.md", "-update -->\n", "<!-- end -->", keyTable())
}

func TestKeysAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys {
		if seen[k.Name] || k.About == "" || k.Default == "" && k.Sample == "" {
			t.Errorf("%s: twice, or without a word about it", k.Name)
		}
		seen[k.Name] = true
		if flag := flagsOf(t, k.For).Lookup(k.Flag()); k.Default != "" && flag.DefValue != k.Default {
			t.Errorf("%s: the default is %q, and the flag has %q", k.Name, k.Default, flag.DefValue)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	got := with("CALLHOUSE_WARHOUSE=x", "CALLHOUSE_WAREHOUSE=x", "CALLHOUSE_CATALOG_TOKEN=x", "CALLHOUSE_TEST_SEALED=x", "CALLHOUSE_IMAGE=x", "CALLHOUSE_HOST=x").UnknownVariables()
	if len(got) != 1 || !strings.Contains(got[0], "did you mean CALLHOUSE_WAREHOUSE?") {
		t.Errorf("%q", got)
	}
}

// keyTable returns the reference of all keys in Markdown.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | flag | environment | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for i := range Keys {
		k := &Keys[i]
		def := ""
		if k.Default != "" {
			def = "`" + k.literal(k.Default) + "`"
		}
		program := ""
		switch k.For {
		case Query:
			program = "query "
		case Publish:
			program = "query publish iceberg "
		}
		flag := strings.TrimSpace(k.Flag() + " " + k.Value)
		fmt.Fprintf(&b, "| `%s` | %s`--%s` | `%s` | %s | %s |\n", k.Name, program, flag, k.Env(), def, k.About)
	}
	return b.String()
}

// Only the loopback's addresses and its own name are certainly this machine.
func TestOnThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "::ffff:127.0.0.1": true, "localhost": true, "LocalHost": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "169.254.169.254": false, "[::1]": false, "localhost.": false,
		"a.localhost": false, "callhouse.localhost": false, "localhost.example.com": false, "notlocalhost": false, "127.0.0.1.example.com": false,
		"127.1": false, "2130706433": false, "0x7f.0.0.1": false, "loсalhost": false, // with a Cyrillic letter
	} {
		if got := OnThisMachine(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
