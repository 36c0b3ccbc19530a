package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
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
	FromEnv
	FromProfile // the selected profile's table of the file
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
	Path     string // of --config
	Profile  string // of --profile or the environment; empty: the file's top
	File     *File  // nil: there is none
	Settings Settings

	keys  map[string]string // by the paths of their files, which root has read
	Given []string          // the flags that chose the file, the profile and the warehouse, for hints
}

// Read reads the file, and sets the values.
func (c *Config) Read(flags *pflag.FlagSet, program Program) (err error) {
	c.keys = map[string]string{}
	if c.File, err = c.Env.Open(c.Path); err != nil {
		return err
	}
	c.Profile = cmp.Or(c.Profile, c.Env.Get(EnvProfile))
	if err := c.checkProfile(); err != nil {
		return err
	}
	return c.Take(flags, program)
}

// Take sets the values to those of the profile.
func (c *Config) Take(flags *pflag.FlagSet, program Program) (err error) {
	c.Given = nil
	for _, name := range []string{"config", "profile", "warehouse"} {
		if f := flags.Lookup(name); f != nil && f.Changed {
			c.Given = append(c.Given, " --"+name+" "+words.Shell(f.Value.String()))
		}
	}
	c.Settings, err = c.Env.apply(flags, program, c.File, c.Profile)
	return err
}

// command matches a command that uses the configuration or a warehouse, in a hint.
var command = regexp.MustCompile(`\b(extract (init|run|follow|plan|recordings|config|status|import|compact|rollback|verify|` +
	`repair|forget|show)|query (report|sql|check|catalog|export|publish|alert|describe|coverage|call|search|mcp))\b`)

// Again returns a hint in which the commands keep the flags that chose the file, the profile and the
// warehouse.
func (c *Config) Again(hint string) string {
	if strings.Contains(hint, " --help") {
		return hint
	}
	flags := ""
	for _, flag := range c.Given {
		if name, _, _ := strings.Cut(flag[1:], " "); !strings.Contains(hint, " "+name+" ") {
			flags += flag
		}
	}
	return command.ReplaceAllStringFunc(hint, func(name string) string { return name + flags })
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
// (which may be nil) or its top, or the default. It may be called again.
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
			if env := e.Get(k.Env()); env != "" && from.Source != FromProfile {
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

// checkProfile returns an error if the file has no such profile.
func (c *Config) checkProfile() error {
	switch {
	case c.Profile == "":
		return nil
	case c.File == nil:
		return cli.Usage("set --config, or create one of "+strings.Join(c.Env.Files, ", "),
			"profiles require a configuration file, and none was found")
	case c.File.profiles[c.Profile] != nil:
		return nil
	}
	hint := c.File.Path + " has no profiles; add a table, e.g. [profiles.acme]"
	if len(c.File.Profiles) > 0 {
		hint = "available: " + strings.Join(c.File.Profiles, ", ")
	}
	return cli.Usage(cli.Suggest(c.Profile, c.File.Profiles, hint), "unknown profile %q in %s", c.Profile, c.File.Path)
}

// VariableNames returns all environment variables that the programs read.
func VariableNames() []string {
	names := []string{EnvFile, EnvProfile, EnvKey, EnvSafe, EnvCatalogToken, EnvCatalogCredential, EnvCatalogWarehouse}
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
