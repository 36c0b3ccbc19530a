package e2e

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/cmd/internal/querycmd/shell"
)

// Every command of extract and every report of query has examples, with valid flags and arguments.
func TestExamplesAreRight(t *testing.T) {
	tried := 0
	for _, tree := range []func() *cobra.Command{extractcmd.Command, querycmd.Command} {
		root := tree()
		for _, cmd := range append(root.Commands(), root) {
			if strings.TrimSpace(cmd.Example) == "" && (root.Name() == "extract" || cmd.GroupID == "reports") && cmd.IsAvailableCommand() && cmd.Name() != "help" {
				t.Errorf("%s --help shows no example", cmd.CommandPath())
			}
			for line := range strings.Lines(cmd.Example) {
				_, line, of := strings.Cut(line, root.Name()+" ")
				if !of {
					continue // of another program
				}
				for _, end := range []string{" | ", " > ", " < ", " && "} {
					line, _, _ = strings.Cut(line, end)
				}
				tried++
				words, _ := shell.Words(strings.TrimSpace(line))
				found, args, err := tree().Find(words)
				if err == nil {
					err = found.ParseFlags(args)
				}
				if err == nil {
					err = found.ValidateArgs(found.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s --help: %s: %v", cmd.CommandPath(), line, err)
				}
			}
		}
	}
	if tried < 30 {
		t.Errorf("%d examples", tried)
	}
}
