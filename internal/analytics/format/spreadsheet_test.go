package format_test

import (
	"context"
	"encoding/csv"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
)

var bg = context.Background()

// No text chosen by the service or a caller starts a formula or becomes a number, and each is
// unchanged once the mark is removed.
func TestSpreadsheetTexts(t *testing.T) {
	column := []value.Column{{Name: "=cmd()", Kind: value.Text}}
	marked := func(t interface{ Fatalf(string, ...any) }, texts []string) (out []string) {
		var rows [][]any
		for _, s := range texts {
			rows = append(rows, []any{s})
		}
		var file strings.Builder
		if _, err := format.Write(bg, &file, format.CSVExcel, format.NewStatic(column, rows), format.Options{}); err != nil {
			t.Fatalf("%v", err)
		}
		body, ok := strings.CutPrefix(file.String(), "\ufeff'=cmd()\r\n")
		if !ok {
			t.Fatalf("it begins with %.20q", file.String())
		}
		records, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil || len(records) != len(texts) {
			t.Fatalf("%q: %d records, %v", body, len(records), err)
		}
		for i := range records {
			got, text := records[i][0], strings.ReplaceAll(texts[i], "\r\n", "\n") // as Go's CSV reader does
			if got != text && got != "'"+text {
				t.Fatalf("%q became %q", text, got)
			}
			if strings.ContainsAny(got[:min(1, len(got))], "=+-@\t\r\n") {
				t.Fatalf("%q is a formula", got)
			}
			if got == text && strings.HasPrefix(got, "'") {
				t.Fatalf("%q cannot be told from a marked one", got)
			}
			out = append(out, got)
		}
		return out
	}
	for text, mark := range map[string]bool{
		"=1+1": true, "+15550001111": true, "-2+3": true, "@SUM(A1)": true, "\t=1": true, "\r=1": true, "\n=1": true, "\uff1d1+1": true, "=HYPERLINK(\"http://x\",\"y\")": true, "-": true,
		"15550001111": true, "007": true, "0014e571": true, "12E5": true, "'quoted": true,
		"": false, "a=b": false, " =1": false, "3": false, "1.5": false, "2026-11": false, "2026-11-01": false, "0a7e1f60-0000": false, "ended": false, "no - really": false,
	} {
		if got := marked(t, []string{text})[0]; (got != text) != mark {
			t.Errorf("%q became %q", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		marked(t, rapid.SliceOfN(rapid.OneOf(rapid.StringMatching(`[=+\-@'\t\r\n0-9eE, "]{0,6}`), rapid.String()), 1, 5).Draw(t, "texts"))
	})
}

// Numbers stay numbers, negative ones too, and times have no offset.
func TestSpreadsheetValues(t *testing.T) {
	at := time.Date(2026, 11, 1, 9, 30, 0, 123e6, time.UTC)
	values := []any{int64(-5), uint64(7), big.NewInt(-12), value.Decimal{Units: big.NewInt(-15000), Scale: 4}, -1.5, math.Inf(-1), true, nil, "",
		at, at.Truncate(time.Second), value.LocalTime(at), value.Date(at), value.JSON(`{"a":"=1"}`), []any{int64(-1)}}
	want := "-5,7,-12,-1.5000,-1.5,'-Infinity,true,,\"\",2026-11-01 18:30:00.123,2026-11-01 18:30:00,2026-11-01 09:30:00.123,2026-11-01,\"{\"\"a\"\":\"\"=1\"\"}\",[-1]\r\n"
	columns := make([]value.Column, len(values))
	for i := range columns {
		columns[i].Name = "c"
	}
	got := write(t, format.CSVExcel, 0, columns, [][]any{values})
	if _, row, _ := strings.Cut(got, "\r\n"); row != want {
		t.Errorf("%s\nwant\n%s", row, want)
	}
}
