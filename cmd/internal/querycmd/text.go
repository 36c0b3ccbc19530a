package querycmd

import (
	"strings"

	"callhouse/cmd/internal/querycmd/answer"
	sqlfiles "callhouse/sql"
)

const textWidth = 79

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
