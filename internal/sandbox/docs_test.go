package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"callhouse/internal/golden"
	"callhouse/internal/sandbox/operation"
)

// TestDocs compares the table of operations in docs/reference/sandbox.md with their declarations.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| resource | operation | parameters besides `cursor`, `limit` | taken from | do not rely on |\n| --- | --- | --- | --- | --- |\n")
	for _, o := range operation.All() {
		fmt.Fprintf(&b, "| %s | `%s %s` | %s | %s | %s |\n", o.Resource, o.Method, o.Path, documented(&o), o.From, o.Beware)
	}
	golden.Part(t, "../../docs/reference/sandbox.md", "internal/sandbox -run TestDocs -update -->\n", "<!-- end -->", b.String())
}

// documented lists an operation's parameters.
func documented(o *operation.Operation) string {
	var all []string
	for _, p := range o.Query {
		if p.Name == "cursor" || p.Name == "limit" {
			continue
		}
		name := "`" + p.Name + "`"
		if p.Many {
			name += "*"
		}
		if p.Default != "" {
			name += " (" + p.Default + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}
