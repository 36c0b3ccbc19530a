package sandbox

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/sandbox/organisation"
)

var update = flag.Bool("update", false, "write the table of resources into the docs")

// TestDocs holds the table of resources in docs/sandbox.md to their declarations.
func TestDocs(t *testing.T) {
	const file, begin, end = "../../docs/sandbox.md", "-update -->\n", "<!-- end -->"
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
	b.WriteString("| resource | path, under GET | parameters besides `cursor`, `limit`, `sort_order` | taken from |\n| --- | --- | --- | --- |\n")
	for _, r := range organisation.All {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", r.Name, strings.Join(r.Paths(), "`, `"), documented(r), r.From)
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

// documented lists what may be asked of a resource.
func documented(r *organisation.Resource) string {
	var all []string
	for _, f := range r.Filters {
		name := "`" + f.Name + "`"
		if f.Many {
			name += "*"
		}
		if f.Default != "" {
			name += " (" + f.Default + ")"
		}
		all = append(all, name)
	}
	if r.Sorts != nil {
		all = append(all, "`sort_by` "+strings.Join(r.Sorts, ", "))
	}
	if r.Fixed {
		all = append(all, "no `sort_order`")
	}
	if r.Include != "" {
		all = append(all, "`"+r.Include+"`")
	}
	if r.Version != nil {
		all = append(all, "of an object `version` (current, production, vN)")
	}
	if r.Unpaged {
		all = append(all, "not these either")
	}
	return strings.Join(all, ", ")
}
