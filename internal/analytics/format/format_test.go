package format_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/test"
)

// check compares got with a file of testdata.
func check(t *testing.T, name, got string) {
	t.Helper()
	test.Golden(t, filepath.Join("testdata", name), got)
}

func write(t *testing.T, f format.Format, width int, columns []value.Column, rows [][]any) string {
	t.Helper()
	seoul, err := time.LoadLocation("Asia/Seoul")
	test.OK(t, err)
	var out bytes.Buffer
	r, err := format.Write(t.Context(), &out, f, format.NewStatic(columns, rows), format.Options{Location: seoul, Width: width})
	test.OK(t, err)
	for _, n := range r.Notes {
		fmt.Fprintln(&out, "NOTE", n)
	}
	return out.String()
}

// report returns a report's answer, by agent.
func report() ([]value.Column, [][]any) {
	columns := []value.Column{
		{Name: "agent", Kind: value.Text, Key: true, Null: "(none)"},
		{Name: "user_sentiment", Label: "user sentiment", Kind: value.Text, Null: "(none)"},
		{Name: "calls", Kind: value.Integer, Unit: value.Count, Null: "-"},
		{Name: "share_percent", Label: "share", Kind: value.Float, Unit: value.Percent, Null: "-"},
		{Name: "mean_ms", Label: "mean", Kind: value.Integer, Unit: value.Millis, Null: "-"},
		{Name: "total_cost", Label: "total cost", Kind: value.Exact, Null: "-"},
	}
	cost := func(units int64) value.Decimal { return value.Decimal{Units: big.NewInt(units), Scale: 4} }
	return columns, [][]any{
		{"113af0e1-ef5b-475b-8d77-825c25d18d58", "neutral", int64(1_234_567), 66.66666666666667, int64(83_211), cost(1234_5000)},
		{"113af0e1-ef5b-475b-8d77-825c25d18d58", nil, int64(617_283), 33.3, int64(999), cost(-500)},
		{"113af0e1-ef5b-475b-8d77-825c25d18d58", "positive", int64(1), 0.0001, nil, nil},
		{"예약 도우미", "negative", int64(0), 0.0, int64(3_600_000), cost(0)}, {nil, "positive", int64(12), 100.0, int64(360_061_000), cost(1)},
	}
}

// odd returns values that are hard to format.
func odd() ([]value.Column, [][]any) {
	columns := []value.Column{
		{Name: "text", Kind: value.Text, Null: "NULL"}, {Name: "text", Kind: value.Text, Null: "NULL"},
		{Name: "text_2", Kind: value.Text, Null: "NULL"}, {Name: "a,b|\"c\"", Kind: value.Float, Null: "NULL"},
		{Name: "at", Kind: value.Instant, Null: "NULL"}, {Name: "doc", Kind: value.Document, Null: "NULL"},
		{Name: "nested", Kind: value.Struct, Null: "NULL"},
	}
	at := time.Date(2026, 11, 19, 23, 30, 0, 120e6, time.UTC)
	return columns, [][]any{
		{"plain", "", " padded ", 1.5, at, value.JSON(`{"b":1.10,"a":[]}`), []any{int64(1), nil}},
		{"line\nbreak", "tab\tand \"quotes\"", "a|b\\c", math.NaN(), nil, nil, nil},
		{"\x1b[31mred\x07", "\u202eright to left", "zero\u200bwidth", math.Inf(1), at.Add(time.Nanosecond), value.JSON(`"x"`), value.Value{Kind: value.Struct, Nest: &value.Nest{Names: []string{"k"}, Values: []value.Value{{Kind: value.Map, Nest: &value.Nest{}}}}}},
		{"한국어 텍스트", "bad \xff utf-8", nil, math.Copysign(0, -1), at, value.JSON("1e5"), value.Value{Kind: value.Struct, Nest: &value.Nest{Names: []string{"t"}, Values: []value.Value{value.Of("v")}}}},
	}
}

func TestGoldens(t *testing.T) {
	for name, rows := range map[string]func() ([]value.Column, [][]any){"report": report, "odd": odd} {
		columns, data := rows()
		for _, f := range format.All() {
			if f.Binary() {
				continue
			}
			check(t, name+"."+string(f), write(t, f, 0, columns, data))
			check(t, "empty-"+name+"."+string(f), write(t, f, 0, columns, nil))
		}
		for _, width := range []int{40, 60, 80, 120} {
			check(t, fmt.Sprintf("%s.terminal-%d", name, width), write(t, format.Table, width, columns, data))
		}
		check(t, name+".terminal-one", write(t, format.Table, 30, columns, data[:1]))
	}
}

// Markdown shows a text, and reads no markup in it. The expected texts were rendered by cmark-gfm,
// markdown-it, mistune and Python-Markdown.
func TestMarkdownShowsTexts(t *testing.T) {
	for text, want := range map[string]string{
		"a|b\\": `a\|b\\`, "*x* 5 * 3": `\*x\* 5 \* 3`, "_x_ user_hangup a__b": `\_x\_ user_hangup a\_\_b`, "`x`": "\\`x\\`", "<b>5 <6</b>": "&lt;b>5 <6&lt;/b>",
		"[a](b) ![c]": `\[a](b) !\[c]`, "&amp; R&D &#42;": "&amp;amp; R&D &amp;#42;", "~5 ~~x~~": "&#126;5 &#126;&#126;x&#126;&#126;", "a\nb": `a\\nb`,
		"http://a.b/c_d www.x.y": "http&#58;//a.b/c_d www&#46;x.y", "# x": "# x", "10.5 2) -3": "10.5 2) -3", "환불_접수": "환불_접수",
	} {
		if got := write(t, format.Markdown, 0, []value.Column{{Name: "a", Kind: value.Text}}, [][]any{{text}}); got != "| a |\n| --- |\n| "+want+" |\n" {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for heading, want := range map[string]string{"# x": `\# x`, "- x": `\- x`, "1. x": `1\. x`, " 2) *x*": `2\) \*x\*`, "2026-11-01 10.5": "2026-11-01 10.5", "> x": `\> x`} {
		var out bytes.Buffer
		if _, err := format.Write(t.Context(), &out, format.Markdown, format.Texts([]string{"a"}, nil), format.Options{Heading: heading}); err != nil || !strings.HasPrefix(out.String(), want+"\n\n|") {
			t.Errorf("%q is %q, want %q: %v", heading, out.String(), want, err)
		}
	}
}

// No line is wider than the terminal.
func TestFitsTheTerminal(t *testing.T) {
	for _, rows := range []func() ([]value.Column, [][]any){report, odd} {
		columns, data := rows()
		for width := 20; width < 160; width++ {
			out := write(t, format.Table, width, columns, data)
			for line := range strings.Lines(out) {
				if n := cells(strings.TrimSuffix(line, "\n")); n > width && !strings.HasPrefix(line, "NOTE") && width > 45 {
					t.Errorf("width %d: a line of %d cells: %q", width, n, line)
				}
			}
		}
	}
}

// Names of groups are shown completely, however narrow the terminal.
func TestNamesThatDiffer(t *testing.T) {
	columns := []value.Column{{Name: "agent", Kind: value.Text, Key: true}, {Name: "calls", Kind: value.Integer}, {Name: "reason", Kind: value.Text}}
	rows := [][]any{{"Northwind Home Store survey 2", int64(1), strings.Repeat("a text ", 9)}, {"Northwind Home Store survey 12", int64(2), "x"}}
	for width := 50; width < 90; width++ {
		var names strings.Builder
		for line := range strings.Lines(write(t, format.Table, width, columns, rows)) {
			name, _, _ := strings.Cut(line, "  ")
			names.WriteString(strings.TrimSpace(name) + " ")
		}
		if got := names.String(); !strings.Contains(got, "Home Store survey 2 ") || !strings.Contains(got, "Home Store survey 12 ") {
			t.Errorf("width %d: %s", width, got)
		}
	}
}

// Columns that say nothing go first, the verdict never, and names that would be cut to the same text are shown in full.
func TestNarrowColumns(t *testing.T) {
	columns := []value.Column{{Name: "agent", Kind: value.Text}, {Name: "id", Kind: value.Text}, {Name: "variant", Kind: value.Text, Null: "(none)"},
		{Name: "calls", Kind: value.Integer}, {Name: "unit", Kind: value.Text}, {Name: "first_seen_day", Kind: value.Day}, {Name: "verdict", Kind: value.Text}, {Name: "mean", Kind: value.Integer}}
	var rows [][]any
	for n := range int64(3) {
		rows = append(rows, []any{fmt.Sprintf("Fairfield Finance collections %d", n), fmt.Sprintf("2d8a7a4%d-0000-4000-8000-00000000000a", n), nil, n, "credits", nil, "too early", n})
	}
	for width, note := range map[int]string{110: "2 more columns (unit, first_seen_day)", 60: "3 more columns (variant, unit, first_seen_day)", 44: "4 more columns (variant, unit, first_seen_day, mean)"} {
		out := write(t, format.Table, width, columns, rows)
		if !strings.Contains(out, "NOTE … "+note+": ") || strings.Count(out, "too early") != 3 || strings.Count(out, "collections 2") != 1 {
			t.Errorf("width %d:\n%s", width, out)
		}
	}
	long := [][]any{{strings.Repeat("a ", 200), "x"}, {strings.Repeat("a ", 201), "x"}}
	if out := write(t, format.Table, 40, columns[:2], long); strings.Count(out, "\n") != 4 {
		t.Errorf("long texts wrap:\n%s", out)
	}
	if out := write(t, format.Table, 15, columns[3:6], [][]any{{int64(1), "x", nil}, {int64(2), "y", nil}}); !strings.Contains(out, "1 more column (first_seen_day): ") {
		t.Error(out)
	}
}

// cells counts terminal cells, accurately enough for these texts.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 && r <= 0x115f || r >= 0xac00 && r <= 0xd7a3 {
			n++
		}
	}
	return n
}

// A column that wraps shows its whole text, on as many lines as needed.
func TestWrap(t *testing.T) {
	columns := []value.Column{{Name: "name", Kind: value.Text}, {Name: "meaning", Kind: value.Text, Wrap: true}}
	got := write(t, format.Table, 30, columns, [][]any{{"one", "a meaning that needs three lines of this width"}, {"two", "short"}})
	want := `name  meaning
──────────────────────────────
one   a meaning that needs
      three lines of this
      width
two   short
`
	test.Same(t, want, got, "(-want +got)")
}

// counter yields n rows, or rows without end.
type counter struct{ n, at int64 }

func (c *counter) Columns() []value.Column {
	return []value.Column{{Name: "n", Type: "BIGINT", Kind: value.Integer}}
}

func (c *counter) Values(context.Context) ([]value.Value, error) {
	if c.at == c.n {
		return nil, io.EOF
	}
	c.at++
	return []value.Value{value.Of(c.at)}, nil
}

func TestLongTables(t *testing.T) {
	var out bytes.Buffer
	r, err := format.Write(t.Context(), &out, format.Table, &counter{n: 5000}, format.Options{Width: 80})
	if err != nil || r.Rows != 1000 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the first 1,000 rows") {
		t.Errorf("on a terminal: %+v, %v", r, err)
	}
	r, err = format.Write(t.Context(), &out, format.Table, &counter{n: 1000}, format.Options{Width: 80})
	if err != nil || len(r.Notes) != 0 {
		t.Errorf("just as many as are shown: %+v, %v", r, err)
	}
	out.Reset()
	// The last text is wider than the rows that determined the layout, and is not truncated.
	r, err = format.Write(t.Context(), &out, format.Table, numbers(5000), format.Options{})
	if err != nil || r.Rows != 5000 || len(r.Notes) != 0 || strings.Count(out.String(), "\n") != 5001 || !strings.HasSuffix(out.String(), "4999  xxxxx\n") {
		t.Errorf("piped: %+v, %v, %d lines", r, err, strings.Count(out.String(), "\n"))
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// A failing writer ends the output, in every format.
func TestBrokenWriter(t *testing.T) {
	for _, f := range format.All() {
		if _, err := format.Write(t.Context(), broken{}, f, &counter{n: 1 << 17}, format.Options{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestFormatOfFile(t *testing.T) {
	for name, want := range map[string]format.Format{"a.csv": format.CSV, "b.JSON": format.JSON, "c.jsonl": format.NDJSON, "d.ndjson": format.NDJSON, "e.md": format.Markdown, "f.arrow": format.Arrow, "h.xlsx": format.XLSX, "i.txt": "", "j": ""} {
		if got, ok := format.OfFile(name); got != want || ok != (want != "") {
			t.Errorf("OfFile(%q) = %q, %v", name, got, ok)
		}
	}
}

// No format lets text from a caller control a terminal; a file or pipe gets it unchanged.
func TestTerminalIsNotSteered(t *testing.T) {
	const foul = "\x1b]0;owned\x07, \"\u009b31m\"\nnext"
	columns := []value.Column{{Name: "a" + foul, Kind: value.Text}, {Name: "plan", Kind: value.Drawing}}
	for _, f := range []format.Format{format.Table, format.CSV, format.CSVExcel, format.JSON, format.NDJSON, format.Markdown} {
		var out bytes.Buffer
		o := format.Options{Width: 80, Heading: "where " + foul}
		_, err := format.Write(t.Context(), &out, f, format.NewStatic(columns, [][]any{{foul, foul}}), o)
		test.OK(t, err)
		if strings.ContainsAny(out.String(), "\x1b\x07\u009b") || !strings.Contains(out.String(), "owned") {
			t.Errorf("%s: %q", f, out.String())
		}
	}
	got := write(t, format.CSV, 0, columns[:1], [][]any{{"\x1b, \"x\""}})
	if want := "\"a\x1b]0;owned\x07, \"\"\u009b31m\"\"\nnext\"\n\"\x1b, \"\"x\"\"\"\n"; got != want {
		t.Errorf("a pipe gets %q, want %q", got, want)
	}
}

// numbers returns a table of the numbers from 0, and their texts.
func numbers(n int64) *format.Static {
	var rows [][]any
	for i := range n {
		rows = append(rows, []any{i, strings.Repeat("x", int(i/1000)+1)})
	}
	return format.NewStatic([]value.Column{{Name: "n", Type: "BIGINT", Kind: value.Integer}, {Name: "x", Type: "VARCHAR", Kind: value.Text}}, rows)
}

// left is a writer whose reader has gone.
type left struct{}

func (left) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Rows without a reader are not computed.
func TestTableLeft(t *testing.T) {
	src := numbers(300_000)
	_, err := format.Write(t.Context(), left{}, format.Table, src, format.Options{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
	if n, _ := (&format.First{Source: src}).Others(t.Context()); n < 200_000 {
		t.Errorf("%d rows are left", n)
	}
}
