package sqlfiles

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/internal/resource"
	"callhouse/internal/test"
)

// example is a report with all that a header may have.
func example(t *testing.T) string { return string(test.Read(t, "testdata/waits.sql")) }

func TestParse(t *testing.T) {
	got, err := Parse("waits", example(t))
	test.OK(t, err)
	want := &File{
		Name: "waits", Answers: "how long callers wait", Grain: "one row per group",
		Text:  "The first paragraph, over two lines: with a colon.\n\nThe second.",
		Reads: []string{"selected", "counted_calls"}, Needs: []string{"end"}, Counts: []string{"status", "is_started"},
		Arguments: "WORD...", Flags: []string{"field"}, Fielded: []string{"at"}, Keys: []string{"at"}, History: 28,
		Hidden: []string{"waits", "total"}, Main: "long_percent", MainRow: "at = 'now'",
		Incomparable: "each row belongs to one call or time, which lies in one period only",
		Columns: []Column{
			{Name: "key", Type: "VARCHAR", Meaning: "the group"},
			{Name: "wait_ms", Type: "BIGINT", Unit: "ms", NotNull: true, Spread: "waits", Meaning: "the wait, which needs two lines"},
			{Name: "at", Type: "TIMESTAMP WITH TIME ZONE", NotNull: true, Meaning: "with --field: when"},
			{Name: "long_percent", Type: "DOUBLE", Unit: "percent", Of: "these calls", Whole: "sum(wait_ms)", Meaning: "how many wait long", Shown: true},
		},
		SQL: "-- A comment of the statement.\nSELECT 1",
	}
	test.Same(t, want, got, "(-want +got)")
}

func TestParseErrors(t *testing.T) {
	example := example(t)
	for name, text := range map[string]string{
		"no header":   "SELECT 1",
		"other name":  strings.Replace(example, "-- waits", "-- wait", 1),
		"no grain":    strings.Replace(example, "-- Grain: one row per group\n", "", 1),
		"no columns":  "-- waits: x\n-- Grain: y\n\nSELECT 1",
		"no SELECT":   example[:strings.Index(example, "\n\n-- A comment")],
		"other key":   strings.Replace(example, "-- Flags:", "-- Keys: when\n-- Flags:", 1),
		"other days":  strings.Replace(example, "28 days", "some days", 1),
		"half column": strings.Replace(example, "  -                                   the group", "", 1),
	} {
		if _, err := Parse("waits", text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The text of a report begins with two sentences on what to look at, at most three lines of help.
func TestReportsSayWhatToLookAt(t *testing.T) {
	for _, f := range Reports() {
		first, _, _ := strings.Cut(f.Text, "\n\n")
		if strings.Count(first+" ", ". ") != 2 || len(first) > 240 {
			t.Errorf("%s begins with %q", f.Name, first)
		}
	}
}

// What is embedded parses, is one statement, and reads only what there is.
func TestFiles(t *testing.T) {
	relations := map[string]bool{"selected": true, "surrounding": true, "counted_calls": true, "selected_turns": true, "selected_tool_calls": true, "selected_items": true, "selected_values": true, "selected_changes": true, "selected_incidents": true, "selected_campaign_calls": true, "produced": true,
		"stored.calls": true, "stored.transcript_turns": true, "stored.analysis_items": true, "stored.runs": true}
	for _, t := range resource.Tables {
		relations["stored."+t.Name] = true
	}
	for _, v := range Views() {
		for _, r := range v.Reads {
			if !relations[r] {
				t.Errorf("view %s reads %s, which is not made before it", v.Name, r)
			}
		}
		relations[v.Name] = true
	}
	for _, f := range Reports() {
		for _, r := range f.Reads {
			if _, ok := Report(r); !ok && !relations[r] {
				t.Errorf("%s reads %s, which there is not", f.Name, r)
			}
		}
		for _, n := range f.Needs {
			switch n {
			case "end", "words", "duration", "analysis", "transcripts", "cost":
			default:
				t.Errorf("%s needs %s, which the coverage does not know", f.Name, n)
			}
		}
		if strings.Contains(f.SQL, ";") {
			t.Errorf("%s is more than one statement", f.Name)
		}
	}
	for _, f := range append(Views(), Reports()...) {
		for _, c := range f.Columns {
			_, report := Report(f.Name)
			if bound := strings.HasSuffix(c.Name, "low_percent") || strings.HasSuffix(c.Name, "high_percent"); report && c.Unit == "percent" && c.Of == "" && !bound {
				t.Errorf("%s.%s does not say what it is a share of", f.Name, c.Name)
			}
			switch c.Unit {
			case "", "ms", "s", "percent", "count", "money", "number", "points", "prose":
			default:
				t.Errorf("%s.%s has the unit %q", f.Name, c.Name, c.Unit)
			}
		}
	}
}

// The reports in docs/reference/queries.md are the declared ones.
func TestReportsOfTheManual(t *testing.T) {
	var b strings.Builder
	b.WriteString("| report | content | one row per |\n| --- | --- | --- |\n")
	for _, f := range Reports() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.TrimSpace(f.Name+" "+f.Arguments), f.Answers, strings.TrimPrefix(f.Grain, "one row per "))
	}
	test.GoldenPart(t, "../docs/reference/queries.md", "go test ./sql -update -->\n", "<!-- end -->", b.String())
}

// The requests for resources in docs/reference/organisation.md are the declared ones.
func TestRequestsOfResources(t *testing.T) {
	var b strings.Builder
	b.WriteString("| table | request | when |\n| --- | --- | --- |\n")
	for _, r := range resource.All {
		list, when := r.Path, "every night"
		if days := r.Every / (24 * time.Hour); r.Parent != nil {
			when = "when the row in `" + r.Parent.Name + "` changed"
			if days > 0 {
				when += fmt.Sprintf(", and every %d days", days)
			}
		} else if days > 0 {
			when = fmt.Sprintf("every %d days", days)
		}
		each := ""
		for _, q := range r.Queries {
			if len(r.Queries) == 1 {
				list += "?" + q.Encode()
			}
			for name := range q {
				each = ", once for each `" + name + "`"
			}
		}
		if len(r.Queries) < 2 {
			each = ""
		}
		request := "`GET " + list + "`" + each
		if r.Record != "" {
			request += "; `GET " + r.Record + "` for `" + strings.Join(r.Own, "`, `") + "`"
			when += "; the second one when the item in the list changed"
		}
		request = strings.NewReplacer("{}", "{id}", "%7B%7D", "{id}").Replace(request)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, request, when)
	}
	test.GoldenPart(t, "../docs/reference/organisation.md", "go test ./sql -update -->\n", "<!-- end -->", b.String())
}
