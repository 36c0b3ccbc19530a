package querycmd

import (
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	sqlfiles "callhouse/sql"
)

const textWidth = 79

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usage("run: "+cmd.CommandPath()+" --help", "%s takes no arguments, %q is given", cmd.Name(), args[0])
	}
	return nil
}

// sentence begins s with a capital letter.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// longText is a definition's header as text: its line, and its paragraphs.
func longText(f *sqlfiles.File) string {
	out := f.Name + ": " + f.Answers
	for _, p := range strings.Split(f.Text, "\n\n") {
		if p != "" {
			out += "\n\n" + answer.Wrap(strings.Fields(p), textWidth)
		}
	}
	return out
}

func wrapList(words []string) string {
	out := answer.Wrap(strings.Fields("Groups for --by: "+strings.Join(words, ", ")), textWidth)
	return strings.TrimPrefix(out, "Groups for --by: ")
}
