package format_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/test"
)

// numbers returns a table of the numbers from 0, and their texts.
func numbers(n int64) *format.Static {
	var rows [][]any
	for i := range n {
		rows = append(rows, []any{i, strings.Repeat("x", int(i/1000)+1)})
	}
	return format.NewStatic([]value.Column{{Name: "n", Type: "BIGINT", Kind: value.Integer}, {Name: "x", Type: "VARCHAR", Kind: value.Text}}, rows)
}

// A table shows the requested number of rows, and how many more there are. Values wider than the
// rows that determined the layout are not truncated, except for texts on a terminal.
func TestTableRows(t *testing.T) {
	for _, c := range []struct {
		o          format.Options
		rows       int64
		last, note string
	}{
		{format.Options{}, 3000, "2999  xxx", ""},
		{format.Options{Width: 80}, 1000, "999  x", "… 2,000 more rows: use --format csv for all"},
		{format.Options{Width: 80, Instead: ".format csv"}, 1000, "999  x", "… 2,000 more rows: use .format csv for all"},
	} {
		var b strings.Builder
		r, err := format.Write(t.Context(), &b, format.Table, numbers(3000), c.o)
		test.OK(t, err)
		lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		if last := lines[len(lines)-1]; r.Rows != c.rows || strings.TrimSpace(last) != strings.TrimSpace(c.last) || strings.Join(r.Notes, "\n") != c.note {
			t.Errorf("%+v: %d rows, the last is %q, notes %q", c.o, r.Rows, last, r.Notes)
		}
	}
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
	if n, _ := src.Skip(t.Context()); n < 200_000 {
		t.Errorf("%d rows are left", n)
	}
}
