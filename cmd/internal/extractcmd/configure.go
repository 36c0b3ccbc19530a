package extractcmd

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
)

// manyProfiles marks the commands that take several profiles.
const manyProfiles = "callhouse_many_profiles"

// runFlags adds the flags of run, which plan and config take as well.
func (s *settings) runFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	s.AddOwnFlags(cmd, config.Extract)
	cmd.Flags().BoolVar(&s.full, "full", false, "list all calls again, whatever was listed before")
}

// yesFlags adds the flags that overrule a safety check.
func (s *settings) yesFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.yes, "yes", false, "do what a safety check refuses: erase much at once (--keep), or believe this machine's clock where the service's contradicts it")
	cmd.Flags().BoolVar(&s.adopt, "adopt", false, "take the calls of this address and key into the warehouse, though they look like another organisation's")
}

// allFlag adds --all to a command that takes several profiles.
func (s *settings) allFlag(cmd *cobra.Command) {
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
	return s.Whose()
}

// configure reads the file, and takes from it and from the environment what no
// flag says, before any command runs.
func (s *settings) configure(cmd *cobra.Command) error {
	if err := s.Read(s.allProfiles); err != nil {
		return err
	}
	switch {
	case len(s.Named) > 1 && cmd.Annotations[manyProfiles] == "":
		return cli.Usage("extract run, extract status and extract config take several", "%s takes one profile", cmd.CommandPath())
	case len(s.Named) > 0:
		return s.apply(cmd, s.Named[0])
	}
	return s.apply(cmd, "")
}

// apply makes these the settings of a profile, "" for those at the file's top.
func (s *settings) apply(cmd *cobra.Command, profile string) error {
	err := s.Take(cmd.Flags(), config.Extract, profile)
	s.secrets.AddURL(s.PingURL)
	return err
}

// of returns the settings of a profile: a copy, which further calls leave alone.
func (s *settings) of(cmd *cobra.Command, profile string) (*settings, error) {
	if err := s.apply(cmd, profile); err != nil {
		return nil, err
	}
	out := *s
	return &out, nil
}

// place returns the warehouse's folder by the one name that it has.
func (s *settings) place() string {
	path, err := filepath.Abs(s.Warehouse)
	if err != nil {
		return s.Warehouse
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
