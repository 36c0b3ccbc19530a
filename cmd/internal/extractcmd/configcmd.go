package extractcmd

import (
	"cmp"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/api"
	"callhouse/internal/words"
)

const configAbout = `config shows the effective settings and the source of each: a flag, an environment variable, a line of the
configuration file, or the default. For the API key it shows only the source.

Flags override the environment, which overrides the file; in the file, a profile overrides the top level.`

func configCommand(s *settings) *cobra.Command {
	var example bool
	var format string
	cmd := &cobra.Command{
		Use: "config", Short: "Show the effective settings and their sources", Long: configAbout,
		Example: `  extract config
  extract config --all --format json
  extract config --example > callhouse.toml`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return printConfig(cmd, s, format)
		},
	}
	// The example must work even if the file is broken.
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if example {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error {
				_, err := io.WriteString(cmd.OutOrStdout(), config.Example())
				return err
			}
			return nil
		}
		return s.configure(cmd)
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&example, "example", false, "print only a commented file with all keys")
	cli.Choice(cmd, &format, "format", "", "text", "json")
	s.allFlag(cmd)
	return cmd
}

// shownConfig is what config prints, as JSON.
type shownConfig struct {
	Profile  string         `json:"profile,omitempty"`
	File     string         `json:"file,omitempty"` // empty: none was found
	APIKey   shownSetting   `json:"api_key"`
	Settings []shownSetting `json:"settings"`
	Notes    []string       `json:"notes,omitempty"`
}

type shownSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
	Kind  string `json:"kind"` // flag, environment, file, default; none for a missing key
	Line  int    `json:"line,omitempty"`
}

func printConfig(cmd *cobra.Command, s *settings, format string) error {
	profiles := s.Named
	if len(profiles) == 0 {
		profiles = []string{""}
	}
	var all []shownConfig
	for _, name := range profiles {
		p, err := s.of(cmd, name)
		if err != nil {
			return err
		}
		_, err = cli.Zone(p.TZ)
		if err := cmp.Or(p.checkBudget(), err); err != nil {
			return err
		}
		all = append(all, shown(p))
	}
	if format == "json" {
		return writeJSON(cmd.OutOrStdout(), all)
	}
	return s.print(cmd.OutOrStdout(), func(out io.Writer) {
		for i := range all {
			if i > 0 {
				words.Fprintln(out)
			}
			all[i].write(out)
		}
	})
}

// shown returns the settings in the form that config prints. It does not read the API key.
func shown(s *settings) shownConfig {
	out := shownConfig{Profile: s.Profile, APIKey: shownSetting{Name: "api_key", Value: "none", From: "nowhere", Kind: "none"},
		Notes: s.Env.StrayVariables()}
	if s.File != nil {
		out.File = s.File.Path
		if s.Profile == "" && len(s.File.Profiles) > 0 {
			out.Notes = append(out.Notes, "the file has profiles, but none is selected: use --profile NAME")
		}
	}
	if p, err := s.KeyPlace(); err != nil {
		out.Notes = append(out.Notes, err.Error())
	} else if p.Source() != "" {
		kind, from := "file", p.Source()
		if p.Env != "" {
			kind, from = "environment", "environment variable "+p.Env
		}
		out.APIKey = shownSetting{Name: "api_key", Value: words.Masked, From: from, Kind: kind}
	}
	if err := s.OneService(); err != nil && (len(out.Notes) == 0 || out.Notes[len(out.Notes)-1] != err.Error()) {
		out.Notes = append(out.Notes, err.Error())
	}
	for i := range s.Settings {
		t := &s.Settings[i]
		kind := [...]string{"default", "file", "file", "environment", "flag"}[t.From.Source]
		out.Settings = append(out.Settings, shownSetting{Name: t.Key.Name, Value: shownValue(t), From: t.From.String(), Kind: kind,
			Line: t.From.Line})
	}
	return out
}

// shownValue returns a setting's value for output. An address that may contain a password is masked.
func shownValue(t *config.Setting) string {
	if t.Value == "" {
		return ""
	}
	if t.Key.Masked || t.Key.Name == "base_url" && api.MayHoldSecrets(t.Value) {
		return words.Masked
	}
	return t.Value
}

func (c *shownConfig) write(out io.Writer) {
	file := c.File
	if file == "" {
		file = "no configuration file"
	}
	if c.Profile != "" {
		file = "profile " + c.Profile + " of " + file
	}
	words.Fprintln(out, file)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range append([]shownSetting{c.APIKey}, c.Settings...) {
		value := t.Value
		if value == "" {
			value = "-"
		}
		words.Fprintf(w, "  %s\t%s\t%s\n", t.Name, value, t.From)
	}
	_ = w.Flush() // into memory
	for _, note := range c.Notes {
		words.Fprintln(out, "note: "+note)
	}
}
