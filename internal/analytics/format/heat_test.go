package format_test

import (
	"bytes"
	"strings"
	"testing"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/test"
)

// hours returns the rows of a heat map, by agent.
func hours() ([]value.Column, [][]any) {
	columns := []value.Column{
		{Name: "agent", Kind: value.Text, Key: true, Null: "(none)"}, {Name: "weekday", Kind: value.Text}, {Name: "hour", Kind: value.Integer},
		{Name: "calls", Kind: value.Integer, Unit: value.Count}, {Name: "share_percent", Kind: value.Float, Unit: value.Percent},
	}
	return columns, [][]any{
		{"ann", "Monday", int64(0), int64(1_250), 50.0},
		{"ann", "Tuesday", int64(9), int64(1), 1.0},
		{"ann", "Sunday", int64(23), int64(700), 40.0},
		{"ann", nil, nil, int64(12), 1.0},
		{nil, "Friday", int64(12), int64(3), 100.0},
	}
}

func TestHeat(t *testing.T) {
	columns, rows := hours()
	for width, name := range map[int]string{60: "heat.terminal-60", 80: "heat.terminal-80", 120: "heat.terminal-120", 0: "heat.table"} {
		var out bytes.Buffer
		src := format.Drawn(format.NewStatic(columns, rows), []string{"hour", "weekday", "calls"})
		if r, err := format.Write(t.Context(), &out, format.Table, src, format.Options{Width: width}); err != nil || r.Rows != 5 {
			t.Fatal(r, err)
		}
		check(t, name, out.String())
		for line := range strings.Lines(out.String()) {
			if n := cells(strings.TrimSuffix(line, "\n")); width > 60 && n > width {
				t.Errorf("width %d: a line of %d cells: %q", width, n, line)
			}
		}
	}
}

// Numbers that do not fit are abbreviated.
func TestHeatOfMany(t *testing.T) {
	columns, _ := hours()
	rows := [][]any{{"ann", "Monday", int64(0), int64(105_432), 50.0}, {"ann", "Tuesday", int64(0), int64(9_949), 5.0}, {"ann", "Sunday", int64(0), int64(999), 5.0}}
	var out bytes.Buffer
	src := format.Drawn(format.NewStatic(columns, rows), []string{"hour", "weekday", "calls"})
	if _, err := format.Write(t.Context(), &out, format.Table, src, format.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	line := strings.Split(out.String(), "\n")[2]
	if want := []string{"00:00", "105k", "███", "9.9k", "···", "·", "·", "·", "·", "999", "···", "116k"}; strings.Join(strings.Fields(line), " ") != strings.Join(want, " ") || cells(line) > 80 {
		t.Errorf("got %q", line)
	}
}

// A card omits unknown values, and wraps if there is no room.
func TestCard(t *testing.T) {
	columns := []value.Column{{Name: "call"}, {Name: "agent"}, {Name: "ended_for"}, {Name: "cost", Kind: value.Exact}}
	row := []any{"c1", nil, "a reason that needs more than one line of this width", nil}
	var out bytes.Buffer
	test.OK(t, format.WriteCard(t.Context(), &out, format.NewStatic(columns, [][]any{row}), format.Options{Width: 40}))
	want := "call       c1\nended for  a reason that needs more than\n           one line of this width\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
