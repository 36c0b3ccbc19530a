// Package docs holds the manual. Programs embed the parts of it that they show.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed reference/queries.md
var queries string

// Definitions returns what the words of reports mean, with the kinds of outcomes and how often a
// verdict is wrong, in Markdown.
func Definitions() string {
	const first, next = "### What the words mean\n", "## SQL\n"
	_, rest, _ := strings.Cut(queries, first)
	text, _, _ := strings.Cut(rest, next)
	return first + text
}
