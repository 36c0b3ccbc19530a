package maintain

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/words"
)

const secretsAbout = `secrets lists all values withheld in agents, tools and other objects, in the current snapshot and in the changes:
the table, the object, the path inside the object and the rule. It shows no values and sends no requests.

Check the list for two kinds of errors: a secret that is not listed is stored in clear, and a listed value that is not
a secret was withheld without need. Values marked CLEAR were stored by an older version: extract migrate withholds
them.`

// withheldPlace is the JSON form of a place.
type withheldPlace struct {
	Table      string     `json:"table"`
	Key        string     `json:"key"`
	Name       string     `json:"name,omitempty"`
	ChangeSeen *time.Time `json:"change_seen_at,omitempty"`
	Path       string     `json:"path"`
	Rule       string     `json:"rule"`
	Clear      bool       `json:"stored_in_clear"`
}

func secretsCommand(s *settings.Settings) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "secrets", Short: "List withheld secrets", Long: secretsAbout,
		Example: `  extract secrets
  extract secrets --format json | jq '.[] | select(.table == "tools")'`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return listSecrets(cmd.Context(), s, format, cmd.OutOrStdout())
		},
	}
	cli.Choice(cmd, &format, "format", "", "text", "json")
	return cmd
}

func listSecrets(ctx context.Context, s *settings.Settings, format string, stdout io.Writer) error {
	current, err := s.Current()
	if err != nil {
		return err
	}
	fsys, err := disk.OpenToRead(s.Warehouse)
	if err != nil {
		return settings.Explain(err)
	}
	places, rows, clear := []withheldPlace{}, map[string]bool{}, 0
	for at, err := range snapshot.NewReader(fsys, current, new(snapshot.Proofs)).Secrets(ctx) {
		if err != nil {
			return settings.Explain(err)
		}
		places = append(places, withheldPlace{at.Resource, at.Key, at.Name, at.ChangeSeen, at.Path, at.Why, at.Clear})
		if rows[at.Resource+" "+at.Key] = true; at.Clear {
			clear++
		}
	}
	if format == "json" {
		return settings.WriteJSON(stdout, places)
	}
	return s.Print(stdout, func(w io.Writer) {
		for _, p := range places {
			state, of := "withheld", ""
			if p.Clear {
				state = "CLEAR"
			}
			if p.Name != "" {
				of = " (" + words.Line(p.Name) + ")"
			}
			if p.ChangeSeen != nil {
				of += ", changed " + p.ChangeSeen.Format(time.RFC3339)
			}
			words.Fprintf(w, "%s %s %s%s: %s: %s\n", state, p.Table, words.Line(p.Key), of, words.Line(p.Path), words.Line(p.Rule))
		}
		words.Fprintf(w, "%s in %s\n", cli.Plural(int64(len(places)), "place"), cli.Plural(int64(len(rows)), "object"))
		if clear > 0 {
			words.Fprintf(w, "%s stored in clear: run extract migrate\n", cli.Plural(int64(clear), "place"))
		}
	})
}
