package extractcmd

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
)

// manyProfiles marks the commands that take several profiles.
const manyProfiles = "callhouse_many_profiles"

// addConfigFlags adds the flags that say which file and which of its profiles,
// and the settings that more commands than run need.
func (s *settings) addConfigFlags(f *pflag.FlagSet) {
	f.StringVar(&s.mask, "mask", "", "fields whose values only keyed hashes are kept of, as in from_number,to_number")
	f.StringVar(&s.maskKeyFile, "mask-key-file", "", "file with the key of these hashes; else the warehouse has one of its own")
	f.StringVar(&s.keep, "keep", "", "erase calls that started longer ago, as in 400d, and do not fetch them any more")
	cli.SpanVar(f, &s.window, "window", 3*24*time.Hour, "how far back calls may still appear or change")
	f.BoolVar(&s.groupReadable, "group-readable", false, "let the warehouse's group read it: 0640 and 0750, not 0600 and 0700")
	config.Bind(f, config.Extract)
	f.StringVar(&s.configFile, "config", "", "configuration file ("+config.EnvFile+"); else callhouse.toml where it is looked for")
	f.StringSliceVar(&s.profiles, "profile", nil, "profile of the configuration file ("+config.EnvProfile+"); run and status take several: a,b")
}

// addAllFlag adds --all to a command that takes several profiles.
func addAllFlag(s *settings, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.allProfiles, "all", false, "all profiles of the configuration file, side by side")
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[manyProfiles] = "yes"
}

// prepare is configure for commands that go to a warehouse: all but config and
// those that are cobra's own.
func (s *settings) prepare(cmd *cobra.Command, _ []string) error {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Name() == "completion" || strings.HasPrefix(c.Name(), "__complete") {
			return nil
		}
	}
	if err := s.configure(cmd); err != nil {
		return err
	}
	return s.whichProfile()
}

// configure reads the file, and takes from it and from the environment what no
// flag says, before any command runs.
func (s *settings) configure(cmd *cobra.Command) (err error) {
	if s.file, err = config.Open(s.configFile); err != nil {
		return err
	}
	if s.profiles, err = config.Choose(s.file, s.profiles, s.allProfiles); err != nil {
		return err
	}
	if len(s.profiles) > 1 && cmd.Annotations[manyProfiles] == "" {
		return cli.Usage("extract run, extract status and extract config take several", "%s takes one profile", cmd.CommandPath())
	}
	if len(s.profiles) > 0 {
		return s.apply(cmd, s.profiles[0])
	}
	return s.apply(cmd, "")
}

// apply makes these the settings of a profile, "" for those at the file's top.
func (s *settings) apply(cmd *cobra.Command, profile string) (err error) {
	if s.told, err = config.Apply(cmd.Flags(), config.Extract, s.file, profile); err != nil {
		return err
	}
	s.profile = profile
	s.secrets.AddURL(s.pingURL)
	return nil
}

// of returns the settings of a profile: a copy, which further calls leave alone.
func (s *settings) of(cmd *cobra.Command, profile string) (*settings, error) {
	if err := s.apply(cmd, profile); err != nil {
		return nil, err
	}
	out := *s
	return &out, nil
}

// whichProfile refuses to guess: where a file has profiles, and none is named,
// and nothing says which warehouse is meant, none is.
func (s *settings) whichProfile() error {
	if s.profile != "" || s.file == nil || len(s.file.Profiles) == 0 || s.told.From("warehouse").Source != config.FromDefault {
		return nil
	}
	return cli.Usage("name one with --profile (run and status take several, and --all)", "%s has profiles, and none is named: %s",
		s.file.Path, strings.Join(s.file.Profiles, ", "))
}

// place returns the warehouse's folder by the one name that it has.
func (s *settings) place() string {
	path, err := filepath.Abs(s.warehouse)
	if err != nil {
		return s.warehouse
	}
	// What is not there yet has no links; what it will stand in may have.
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(path)
		if up == path {
			return filepath.Join(path, rest)
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
}
