package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// Source is the layer of a value, in ascending precedence.
type Source uint8

// Sources.
const (
	FromDefault Source = iota
	FromTop            // of the file
	FromProfile        // a profile's table of the file
	FromEnv
	FromFlag
)

// Origin is where a value came from.
type Origin struct {
	Source Source
	Name   string // in messages; empty for a default
}

func (o Origin) String() string { return cmp.Or(o.Name, "default") }

// Setting is one setting in force.
type Setting struct {
	Key   *Key
	Value string // in the form of its flag
	From  Origin
}

// Settings are the settings of one program.
type Settings []Setting

// From returns the origin of a setting.
func (s Settings) From(name string) Origin {
	for i := range s {
		if s[i].Key.Name == name {
			return s[i].From
		}
	}
	return Origin{}
}

// Config is the configuration of a command: the settings of one profile, or those at the top of the
// file.
type Config struct {
	Values
	Env      Environment
	Path     string   // of --config
	Named    []string // the selected profiles
	Profile  string   // the profile of these settings; empty: the file's top
	File     *File    // nil: there is none
	Settings Settings

	keys map[string]string // by the paths of their files, which root has read
}

// Read reads the file and resolves the selected profiles; with all, every profile.
func (c *Config) Read(all bool) (err error) {
	c.keys = map[string]string{}
	if c.File, err = c.Env.Open(c.Path); err != nil {
		return err
	}
	c.Named, err = c.Env.choose(c.File, c.Named, all)
	return err
}

// Take sets the values to those of a profile; "" is the top of the file.
func (c *Config) Take(flags *pflag.FlagSet, program Program, profile string) (err error) {
	c.Profile = profile
	c.Settings, err = c.Env.apply(flags, program, c.File, profile)
	return err
}

// Whose returns an error if the file has profiles, none is selected, and nothing else names the
// warehouse.
func (c *Config) Whose() error {
	if c.Profile != "" || c.File == nil || len(c.File.Profiles) == 0 || c.Settings.From("warehouse").Source != FromDefault {
		return nil
	}
	return cli.Usage("name one with --profile", "%s has profiles, but none is selected: %s", c.File.Path, strings.Join(c.File.Profiles, ", "))
}

// Unset says why settings are missing if there is no file, or none that this user can read, and what helps.
func (c *Config) Unset() (why, help string) {
	if c.File != nil {
		return "", ""
	}
	if _, err := os.ReadFile(c.Env.Machine); errors.Is(err, fs.ErrPermission) {
		return ", and this user cannot read " + c.Env.Machine, "run this as a user who can"
	}
	return "", "run: extract init"
}

// NoWarehouse returns the error for a warehouse that does not exist yet.
func (c *Config) NoWarehouse() error {
	why, help := "", ""
	if len(c.Settings) > 0 && c.Settings.From("warehouse").Source == FromDefault && c.Env.Get("CALLHOUSE_BASE_URL") == "" {
		why, help = c.Unset()
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("no warehouse at %s yet%s", c.Warehouse, why),
		cmp.Or(help, "run: extract run --warehouse "+words.Shell(c.Warehouse)))
}

// apply sets every setting without an argument: from the environment, from a profile of the file
// (which may be nil) or its top, or the default. It may be called again for another profile.
func (e Environment) apply(flags *pflag.FlagSet, program Program, f *File, profile string) (Settings, error) {
	var out Settings
	for i := range Keys {
		k := &Keys[i]
		if k.For&program == 0 {
			continue
		}
		flag := flags.Lookup(k.Flag())
		if flag == nil || flag.Annotations[annotation] == nil {
			continue
		}
		from := Origin{FromFlag, "flag --" + flag.Name}
		if !flag.Changed {
			var text string
			text, from = f.find(k, profile, flag.DefValue)
			if env := e.Get(k.Env()); env != "" {
				if from.Source == FromProfile && k.Whose && env != text {
					return nil, f.overridden(k.Env(), profile, k.Name)
				}
				text, from = env, Origin{FromEnv, "environment variable " + k.Env()}
			}
			if err := flag.Value.Set(text); err != nil {
				return nil, cli.Usage("it must be "+k.Kind.String(), "%s: invalid value for %s", from, k.Name)
			}
		}
		value := flag.Value.String()
		if k.Words != nil && !slices.Contains(k.Words, value) {
			return nil, cli.Usage("--"+k.Flag()+" takes "+strings.Join(k.Words, " or "), "unknown %s %q",
				strings.ReplaceAll(k.Name, "_", " "), value)
		}
		out = append(out, Setting{k, value, from})
	}
	return out, nil
}

// find returns the file's value of a setting, or def.
func (f *File) find(k *Key, profile, def string) (string, Origin) {
	if f == nil {
		return def, Origin{}
	}
	if v, ok := f.profiles[profile][k.Name]; ok {
		return v, Origin{FromProfile, "profile " + profile + " of " + f.Path}
	}
	if v, ok := f.top[k.Name]; ok {
		return v, Origin{FromTop, f.Path}
	}
	return def, Origin{}
}

// overridden returns the error for an environment variable that would change which calls a profile
// gets, or where they go.
func (f *File) overridden(env, profile, name string) error {
	return cli.Usage("unset it, or override the profile with flags: this setting decides where calls are stored, so it must be unambiguous",
		"%s is set, but the profile %q of %s has its own %s", env, profile, f.Path, name)
}

// checkKey refuses an environment that would give a profile another key than its own.
func (f *File) checkKey(e Environment, profile string) error {
	if f == nil {
		return nil
	}
	if _, own := f.profiles[profile]["api_key_file"]; !own {
		return nil
	}
	for _, env := range []string{EnvKey, "CALLHOUSE_API_KEY_FILE"} {
		if e.Get(env) != "" {
			return f.overridden(env, profile, "api_key_file")
		}
	}
	return nil
}

// choose returns the selected profiles: by name, all, or by CALLHOUSE_PROFILE; nil if none.
func (e Environment) choose(f *File, named []string, all bool) ([]string, error) {
	if all && len(named) > 0 {
		return nil, cli.Usage("remove one of them", "--all and --profile exclude each other")
	}
	if !all && len(named) == 0 {
		for name := range strings.SplitSeq(e.Get(EnvProfile), ",") {
			if name = strings.TrimSpace(name); name != "" {
				named = append(named, name)
			}
		}
	}
	if !all && len(named) == 0 {
		return nil, nil
	}
	if f == nil {
		return nil, cli.Usage("set --config, or create one of "+strings.Join(e.Files, ", "),
			"profiles require a configuration file, and none was found")
	}
	if all {
		if len(f.Profiles) == 0 {
			return nil, cli.Usage("add a table, e.g. [profiles.acme]", "%s has no profiles", f.Path)
		}
		return f.Profiles, nil
	}
	for i, name := range named {
		if f.profiles[name] == nil {
			hint := f.Path + " has no profiles; add a table, e.g. [profiles.acme]"
			if len(f.Profiles) > 0 {
				hint = "available: " + strings.Join(f.Profiles, ", ")
			}
			return nil, cli.Usage(cli.Suggest(name, f.Profiles, hint), "unknown profile %q in %s", name, f.Path)
		}
		if slices.Contains(named[:i], name) {
			return nil, cli.Usage("", "the profile %q is repeated", name)
		}
	}
	return named, nil
}

// VariableNames returns all environment variables that the programs read.
func VariableNames() []string {
	names := []string{EnvFile, EnvProfile, EnvKey, EnvSafe, EnvCatalogToken, EnvCatalogCredential, EnvCatalogWarehouse,
		EnvSigningName, EnvSigningRegion}
	for i := range Keys {
		names = append(names, Keys[i].Env())
	}
	return names
}

// UnknownVariables returns a note for each environment variable that resembles a setting but is not
// one, with a suggestion.
func (e Environment) UnknownVariables() (out []string) {
	const prefix = "CALLHOUSE_" // ignored when comparing names
	var known []string
	for _, name := range VariableNames() {
		known = append(known, strings.TrimPrefix(name, prefix))
	}
	for full := range e.Vars {
		name, ours := strings.CutPrefix(full, prefix)
		if !ours || slices.Contains(known, name) {
			continue
		}
		if near := words.Nearest(name, known); near != "" {
			out = append(out, fmt.Sprintf("the environment variable %s is not a setting and is ignored: did you mean %s?", full, prefix+near))
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}
