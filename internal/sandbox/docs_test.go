package sandbox

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/sandbox/operation"
)

var update = flag.Bool("update", false, "write the table of operations into the docs")

// TestDocs holds the table of operations in docs/sandbox.md to their declarations.
func TestDocs(t *testing.T) {
	const file, begin, end = "../../docs/sandbox.md", "internal/sandbox -run TestDocs -update -->\n", "<!-- end -->"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("no place for the table")
	}
	var b strings.Builder
	b.WriteString("| resource | operation | parameters besides `cursor`, `limit` | taken from | do not rely on |\n| --- | --- | --- | --- | --- |\n")
	for _, o := range operation.All {
		fmt.Fprintf(&b, "| %s | `%s %s` | %s | %s | %s |\n", o.Resource, o.Method, o.Path, documented(&o), o.From, o.Beware)
	}
	want := head + begin + b.String() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, string(page)); diff != "" && !*update {
		t.Errorf("go test ./internal/sandbox -run TestDocs -update writes the table anew:\n%s", diff)
	}
}

// documented lists what may be asked of an operation.
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
