package sqlfiles

import (
	"strings"
	"testing"

	"callhouse/internal/resource"
	"callhouse/internal/test"
)

const example = `-- waits: how long callers wait
--
-- The first paragraph,
-- over two lines: with a colon.
--
-- The second.
--
-- Grain: one row per group
-- Reads: selected, calls
-- Needs: end
-- Counts: status, is_started
-- Arguments: WORD...
-- Flags: field
-- With field: at
-- Map: key, at, wait_ms
-- Shares: long_percent of sum(wait_ms)
-- Means: wait_ms of waits
-- Repeats: long_percent of key, total of at
-- Columns:
--   key      VARCHAR             -   the group
--   wait_ms  BIGINT NOT NULL     ms  the wait, which
--       needs two lines
--   at       TIMESTAMP WITH TIME ZONE NOT NULL  -  when
--   long_percent  DOUBLE  percent of these calls  how many wait long

-- A comment of the statement.
SELECT 1
`

func TestParse(t *testing.T) {
	got, err := Parse("waits", example)
	test.OK(t, err)
	want := &File{
		Name: "waits", Answers: "how long callers wait", Grain: "one row per group",
		Text:  "The first paragraph, over two lines: with a colon.\n\nThe second.",
		Reads: []string{"selected", "calls"}, Needs: []string{"end"}, Counts: []string{"status", "is_started"},
		Arguments: "WORD...", Flags: []string{"field"}, Fielded: []string{"at"}, Map: []string{"key", "at", "wait_ms"}, Keys: []string{"at"},
		Hidden:       []string{"total", "waits"},
		Repeats:      map[string][]string{"long_percent": {"key"}, "total": {"at"}},
		Incomparable: "each row belongs to one call or time, which lies in one period only",
		Columns: []Column{
			{Name: "key", Type: "VARCHAR", Meaning: "the group"},
			{Name: "wait_ms", Type: "BIGINT", Unit: "ms", NotNull: true, Spread: "waits", Meaning: "the wait, which needs two lines"},
			{Name: "at", Type: "TIMESTAMP WITH TIME ZONE", NotNull: true, Meaning: "when"},
			{Name: "long_percent", Type: "DOUBLE", Unit: "percent", Of: "these calls", Whole: "sum(wait_ms)", Meaning: "how many wait long"},
		},
		SQL: "-- A comment of the statement.\nSELECT 1",
	}
	test.Same(t, want, got, "(-want +got)")
}

func TestParseErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no header":   "SELECT 1",
		"other name":  strings.Replace(example, "-- waits:", "-- wait:", 1),
		"no grain":    strings.Replace(example, "-- Grain: one row per group\n", "", 1),
		"no columns":  "-- waits: x\n-- Grain: y\n\nSELECT 1",
		"no SELECT":   example[:strings.Index(example, "\n\n-- A comment")],
		"other key":   strings.Replace(example, "-- Shares:", "-- Keys: when\n-- Shares:", 1),
		"other share": strings.Replace(example, "-- Shares: long", "-- Shares: longer", 1),
		"other mean":  strings.Replace(example, "-- Means: wait_ms of", "-- Means: wait_ms", 1),
		"half column": strings.Replace(example, "--   key      VARCHAR             -   the group", "--   key      VARCHAR", 1),
	} {
		if _, err := Parse("waits", text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What is embedded parses, is one statement, and reads only what there is.
func TestFiles(t *testing.T) {
	relations := map[string]bool{"selected": true, "surrounding": true, "counted_calls": true, "selected_turns": true, "selected_tool_calls": true, "selected_items": true, "selected_values": true, "selected_changes": true, "selected_incidents": true, "selected_campaign_calls": true,
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
		for _, c := range f.Map {
			if _, ok := f.Column(c); !ok || len(f.Map) != 3 {
				t.Errorf("%s is drawn of %v, which are not three columns of it", f.Name, f.Map)
			}
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
