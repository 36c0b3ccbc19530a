package sandbox

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// TestDocs compares the table of operations in docs/reference/sandbox.md with their declarations.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| resource | operation | parameters besides `cursor`, `limit` | taken from | do not rely on |\n| --- | --- | --- | --- | --- |\n")
	for _, o := range operation.All() {
		fmt.Fprintf(&b, "| %s | `%s %s` | %s | %s | %s |\n", o.Resource, o.Method, o.Path, documented(&o), o.From, o.Beware)
	}
	test.GoldenPart(t, "../../docs/reference/sandbox.md", "internal/sandbox -run TestDocs -update -->\n", "<!-- end -->", b.String())
}

// TestDocsOfFaults compares the tables of faults in docs/reference/sandbox.md with their declarations.
func TestDocsOfFaults(t *testing.T) {
	var b strings.Builder
	table := func(intro string) { fmt.Fprintf(&b, "\n%s\n\n| Fault | Effect |\n| --- | --- |\n", intro) }
	table("`--faults 500=0.05,cut=0.01` gives this share of requests a fault. A status (400, 401, 403, 404,\n" +
		"405, 409, 500, 503) is answered with the error envelope, as are all names that begin with one:")
	for _, f := range requestFaults {
		if f.Effect != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.Kind, f.Effect)
		}
	}
	table("Those of pages. A client that follows `next_cursor` carefully still gets every call, after\n`early-end` by time:")
	for _, f := range pageFaults {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Kind, f.Effect)
	}
	table("`--lists depth=10000,null` applies to every page of the list of v3's calls:")
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Lists]()) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Tag.Get("mode"), f.Tag.Get("says"))
	}
	table("`--call-faults late-record=0.05,masked=0.01` gives this share of calls a fault. A call may have\n" +
		"several. Truth and statistics include them; turns count if the record can be read in at most 8 MiB:")
	for _, f := range world.CallFaults {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Kind, f.Effect)
	}
	test.GoldenPart(t, "../../docs/reference/sandbox.md", "internal/sandbox -run TestDocsOfFaults -update -->\n", "<!-- end of faults -->",
		b.String()+"\n")
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
