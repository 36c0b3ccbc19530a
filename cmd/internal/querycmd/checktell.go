package querycmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// tell writes what the tests found: for people a table, and below it the first
// rows of each test that found something; as JSON all of it; in other formats
// the table.
func (c *checking) tell(ctx context.Context, tests []*verdict, loc *time.Location) error {
	kind, err := c.OutputFormat()
	if err != nil {
		return err
	}
	if kind == format.JSON {
		return c.tellJSON(ctx, tests, loc)
	}
	columns := []value.Column{
		{Name: "check", Type: "VARCHAR", Kind: value.Text}, {Name: "severity", Type: "VARCHAR", Kind: value.Text},
		{Name: "violations", Type: "BIGINT", Kind: value.Integer}, {Name: "finds", Type: "VARCHAR", Kind: value.Text, Wrap: true},
	}
	var rows [][]any
	for _, v := range tests {
		rows = append(rows, []any{v.Name, v.severity(), v.count, v.About})
	}
	r, err := c.Write(ctx, format.NewStatic(columns, rows), loc)
	if err != nil {
		return err
	}
	c.Notes(r)
	if kind != format.Table || c.Summary {
		return nil
	}
	for _, v := range tests {
		if len(v.rows) == 0 {
			continue
		}
		words.Fprintf(c.Stdout, "\n%s: the first %d of %d\n", v.Name, len(v.rows), v.count)
		if _, err := c.Write(ctx, format.NewStatic(v.columns, v.rows), loc); err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) tellJSON(ctx context.Context, tests []*verdict, loc *time.Location) error {
	type line struct {
		Check      string          `json:"check"`
		Severity   string          `json:"severity"`
		Violations int64           `json:"violations"`
		Finds      string          `json:"finds"`
		File       string          `json:"file,omitempty"`
		Rows       json.RawMessage `json:"rows"`
	}
	out := []line{}
	for _, v := range tests {
		var rows bytes.Buffer
		if _, err := format.Write(ctx, &rows, format.JSON, format.NewStatic(v.columns, v.rows), format.Options{Location: loc}); err != nil {
			return err
		}
		out = append(out, line{v.Name, v.severity(), v.count, v.About, v.File, rows.Bytes()})
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("encode what the tests found: %w", err)
	}
	text = append(text, '\n')
	if c.Output == "" {
		_, err = c.Stdout.Write(text)
		return err
	}
	return c.WriteFile(c.Output, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
