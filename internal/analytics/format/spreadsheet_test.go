package format_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/test"
)

var bg = context.Background()

// changing are texts that spreadsheets change, of which each needs a mark in CSV.
var changing = []string{"=1+1", "+15550001111", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1+1", `=HYPERLINK("http://x","y")`, `="007"`, "-", "\u22125", "'quoted", "#N/A",
	"15550001111", "1234567890123456", "1234567", "007", "00.5", " 0123", "5 ", "0014e571", "12E5", "1.5E3", "1e-3", "1.10", "1,5", "1,234", "1.234", "1'000", "1\u00a0234", "(5)", "5-", "１２３",
	"5%", "$5", "5 €", "US$5", "₩1,000", "1,000원", "3/4", "1 1/2", "1:30", "1:30 PM", "9 am", "9a", "오전 9:00", "PT5M", "10-12", "1-2-3", "2026-11", "2026-11-01", "2026/11/1", "1.11.", "01.11.2026", "1.11",
	"MAR1", "SEPT2", "OCT4", "1 Jan", "1-Jan-26", "Jan 2026", "1. Mai", "5 März", "11월 1일", "2026年11月1日", "5 de enero de 2026", "Sunday, 1 November 2026 12:30:00 PM",
	"true", "TRUE", "Falsch", "VRAI", "참", "0x1F", "1d", "2026-11-01T09:30:00Z", "1.2.3", "12345678-1234", "00000000000000000000000000000000000000000000000000001"}

// unchanging are texts that none of them changes.
var unchanging = []string{"", " ", "a=b", "3", "999999", "0", "0a7e1f60-12ab-4d3c-9e8f-0123456789ab", "ended", "no - really", "p90_ms", `{"a":1}`, "[1,2]", "true enough",
	"The caller wanted to move the appointment of 1 November to the 3rd.", "user@example.com", "v1_2"}

// No text chosen by the service or a caller becomes something else in a spreadsheet of any language,
// and each can be read back.
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
		body, ok := strings.CutPrefix(file.String(), "\ufeff\"=\"\"=cmd()\"\"\"\r\n")
		if !ok {
			t.Fatalf("it begins with %.20q", file.String())
		}
		records, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil || len(records) != len(texts) {
			t.Fatalf("%q: %d records, %v", body, len(records), err)
		}
		for i := range records {
			got, text := records[i][0], strings.ReplaceAll(texts[i], "\r\n", "\n") // as Go's CSV reader does
			if got != text && got != `="`+strings.ReplaceAll(text, `"`, `""`)+`"` && (len(text) < 256 && !strings.ContainsAny(texts[i], "\r\n") || got != "'"+text) {
				t.Fatalf("%q became %q", text, got)
			}
			if got == text && strings.ContainsAny(strings.TrimSpace(got)[:min(1, len(strings.TrimSpace(got)))], "=+-@'") {
				t.Fatalf("%q is a formula", got)
			}
			out = append(out, got)
		}
		return out
	}
	for _, text := range changing {
		if got := marked(t, []string{text})[0]; got == text {
			t.Errorf("%q is not marked", text)
		}
	}
	for _, text := range unchanging {
		if got := marked(t, []string{text})[0]; got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		marked(t, rapid.SliceOfN(rapid.OneOf(rapid.StringMatching(`[=+\-@'\t\r\n0-9eE, "]{0,6}`), rapid.StringMatching(`-[a-z ]{240,300}`), rapid.String()), 1, 5).Draw(t, "texts"))
	})
}

// Numbers stay numbers, negative ones too, unless they have more digits than a spreadsheet keeps.
// Times have no offset, and no fraction, which Excel shows as minutes. The zone is in the heading.
func TestSpreadsheetValues(t *testing.T) {
	at := time.Date(2026, 11, 1, 9, 30, 0, 623e6, time.UTC)
	values := []any{int64(-5), uint64(7), big.NewInt(-12), value.Decimal{Units: big.NewInt(-15000), Scale: 4}, -1.5, 1e21, math.Inf(-1), true, nil, "",
		at, value.LocalTime(at), value.Date(at), value.JSON(`{"a":"=1"}`), value.JSON("1.10"), []any{int64(-1)}, int64(1_234_567_890_123_456),
		value.Decimal{Units: new(big.Int).Lsh(big.NewInt(1), 70), Scale: 2}}
	columns := make([]value.Column, len(values))
	for i := range columns {
		columns[i].Name = "c"
	}
	columns[10] = value.Column{Name: "start_at", Kind: value.Instant}
	seoul, err := time.LoadLocation("Asia/Seoul")
	test.OK(t, err)
	for comma, want := range map[bool]string{
		false: `-5,7,-12,-1.5000,-1.5,1e+21,"=""-Infinity""",true,,"",2026-11-01 18:30:00,2026-11-01 09:30:00,2026-11-01,"{""a"":""=1""}","=""1.10""",[-1],"=""1234567890123456""","=""11805916207174113034.24"""`,
		true:  `-5;7;-12;-1,5000;-1,5;1e+21;"=""-Infinity""";true;;"";2026-11-01 18:30:00;2026-11-01 09:30:00;2026-11-01;"{""a"":""=1""}";"=""1.10""";[-1];"=""1234567890123456""";"=""11805916207174113034,24"""`,
	} {
		var out strings.Builder
		_, err := format.Write(bg, &out, format.CSVExcel, format.NewStatic(columns, [][]any{values}), format.Options{Location: seoul, Comma: comma})
		test.OK(t, err)
		want = "\ufeff" + strings.Repeat("c,", 10) + "start_at (Asia/Seoul)" + strings.Repeat(",c", 7) + "\r\n" + want + "\r\n"
		if comma {
			want = strings.Replace(want, ",", ";", 17)
		}
		if got := out.String(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// sheetCell is a cell of a sheet, as stored and as displayed.
type sheetCell struct {
	Type       excelize.CellType
	Raw, Shown string
}

// readSheet opens a workbook and returns the cells of its sheet.
func readSheet(t *testing.T, raw []byte) (*excelize.File, [][]sheetCell) {
	t.Helper()
	file, err := excelize.OpenReader(bytes.NewReader(raw))
	test.OK(t, err)
	t.Cleanup(func() { _ = file.Close() })
	name := file.GetSheetName(0)
	raws, err := file.GetRows(name, excelize.Options{RawCellValue: true})
	test.OK(t, err)
	out := make([][]sheetCell, len(raws))
	for y, row := range raws {
		for x := range row {
			cell, _ := excelize.CoordinatesToCellName(x+1, y+1)
			kind, err1 := file.GetCellType(name, cell)
			shown, err2 := file.GetCellValue(name, cell)
			test.OK(t, errors.Join(err1, err2))
			if formula, _ := file.GetCellFormula(name, cell); formula != "" {
				t.Errorf("%s holds the formula %s", cell, formula)
			}
			out[y] = append(out[y], sheetCell{kind, row[x], shown})
		}
	}
	return file, out
}

// Every cell has the type of its value, whatever its text looks like. Times are in the zone.
func TestXLSX(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	at := time.Date(2026, 11, 19, 23, 30, 0, 123e6, time.UTC) // the library shows no milliseconds
	text := func(s string) sheetCell { return sheetCell{excelize.CellTypeInlineString, s, s} }
	number := func(s string) sheetCell { return sheetCell{excelize.CellTypeUnset, s, s} }
	cases := []struct {
		v    any
		want sheetCell
	}{
		{"+15550001111", text("+15550001111")}, {"007", text("007")}, {"12E5", text("12E5")}, {"=1+1", text("=1+1")}, {"@SUM(A1)", text("@SUM(A1)")},
		{" \"한국어\" <b>&\nline ", text(" \"한국어\" <b>&\nline ")}, {"_x0041_", text("_x0041_")}, {"bad \xff\x00", text("bad \ufffd\ufffd")},
		{int64(-5), number("-5")}, {uint64(7), number("7")}, {big.NewInt(-12), number("-12")}, {0.1, number("0.1")}, {float32(0.1), number("0.1")},
		{value.Decimal{Units: big.NewInt(-1_205_000), Scale: 4}, number("-120.5")}, {int64(999_999_999_999_999), number("999999999999999")},
		{int64(1_000_000_000_000_000), text("1000000000000000")}, {int64(math.MinInt64), text("-9223372036854775808")}, {uint64(1 << 63), text("9223372036854775808")},
		{new(big.Int).Lsh(big.NewInt(1), 90), text("1237940039285380274899124224")}, {math.Inf(-1), text("-Infinity")}, {math.NaN(), text("NaN")},
		{true, sheetCell{excelize.CellTypeBool, "1", "TRUE"}},
		{at, sheetCell{excelize.CellTypeUnset, "46346.35416809028", "2026-11-20 08:30:00.000"}},
		{value.LocalTime(at), sheetCell{excelize.CellTypeUnset, "46345.97916809028", "2026-11-19 23:30:00.000"}},
		{value.Date(at.Truncate(24 * time.Hour)), sheetCell{excelize.CellTypeUnset, "46345", "2026-11-19"}},
		{value.Date(time.Date(1899, 1, 1, 0, 0, 0, 0, time.UTC)), text("1899-01-01")},
		{value.JSON(`{"b":1.10}`), text(`{"b":1.10}`)}, {[]any{int64(1), nil}, text("[1,null]")}, {nil, sheetCell{}}, {"last", text("last")},
	}
	columns := make([]value.Column, len(cases))
	row, want, head := make([]any, len(cases)), make([]sheetCell, len(cases)), make([]sheetCell, len(cases))
	for i, c := range cases {
		columns[i].Name = "=c" + string(rune('A'+i))
		row[i], want[i], head[i] = c.v, c.want, text(columns[i].Name)
	}
	file, got := readSheet(t, []byte(write(t, format.XLSX, 0, columns, [][]any{row})))
	test.Same(t, [][]sheetCell{head, want}, got, "(-want +got)")
	if p, err := file.GetPanes("Sheet1"); err != nil || !p.Freeze || p.YSplit != 1 {
		t.Errorf("the heading is not frozen: %+v, %v", p, err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// Numbers have the format of their unit, the sheet has the report's name, a filter, and a second
// sheet about the answer. What Excel cannot show as a duration is not one.
func TestXLSXUnits(t *testing.T) {
	column := func(name string, kind value.Kind, unit value.Unit) value.Column {
		return value.Column{Name: name, Kind: kind, Unit: unit}
	}
	columns := []value.Column{column("calls", value.Integer, value.Count), column("mean_ms", value.Integer, value.Millis), column("p50_ms", value.Integer, value.Millis),
		column("gap_ms", value.Integer, value.Millis), column("total_ms", value.Integer, value.Millis), column("change_mean_ms", value.Integer, value.Millis),
		column("share_percent", value.Float, value.Percent), column("odd_percent", value.Float, value.Percent), column("total_cost", value.Exact, value.Money),
		column("mean", value.Float, value.Number), column("change_percent_points", value.Float, value.Points), column("turn", value.Integer, value.Number),
		column("at", value.Instant, value.NoUnit), column("day", value.Day, value.NoUnit), column("free", value.Float, value.NoUnit)}
	at := time.Date(2026, 11, 19, 23, 30, 0, 0, time.UTC)
	row := []any{int64(1234), int64(83_412), int64(850), int64(-5000), int64(360_000_500), int64(-5250), 12.5, math.NaN(), value.Decimal{Units: big.NewInt(12345), Scale: 4},
		2.25, -0.5, int64(3), at, value.Date(at.Truncate(24 * time.Hour)), 0.25}
	var out bytes.Buffer
	_, err := format.Write(bg, &out, format.XLSX, format.NewStatic(columns, [][]any{row, row}), format.Options{Title: "durations",
		About: func(context.Context) ([][2]string, error) {
			return [][2]string{{"zone", "UTC"}, {"conditions", "=a\nb"}}, nil
		}})
	test.OK(t, err)
	file, got := readSheet(t, out.Bytes())
	var names, cells, formats []string
	for i := range columns {
		names, cells = append(names, got[0][i].Raw), append(cells, got[1][i].Raw)
		name, _ := excelize.CoordinatesToCellName(i+1, 2)
		id, err := file.GetCellStyle("durations", name)
		test.OK(t, err)
		style, err := file.GetStyle(id)
		test.OK(t, err)
		if style.CustomNumFmt == nil {
			style.CustomNumFmt = new(string)
		}
		formats = append(formats, *style.CustomNumFmt)
	}
	test.Same(t, []string{"calls", "mean", "p50", "gap", "total", "change_mean (s)", "share_percent", "odd_percent", "total_cost", "mean_2", "change_percent_points", "turn", "at (UTC)", "day", "free"}, names, "")
	test.Same(t, []string{"1234", "0.0009654166666666666", "0.000009837962962962963", "-5.0s", "4.166672453703704", "-5.25", "0.125", "NaN", "1.2345", "2.25", "-0.5", "3", "46345.979166666664", "46345", "0.25"}, cells, "")
	test.Same(t, []string{"#,##0", "[h]:mm:ss", "[h]:mm:ss.000", "", "[h]:mm:ss", "+#,##0.000;-#,##0.000;0.000", "0.0 %", "", "#,##0.00##", "#,##0.0##", "+0.0;-0.0;0.0", "",
		"yyyy-mm-dd hh:mm:ss", "yyyy-mm-dd", ""}, formats, "")
	if at, _ := file.GetSheetDimension("durations"); at != "" || !slices.Equal(file.GetSheetList(), []string{"durations", "about"}) {
		t.Error(at, file.GetSheetList())
	}
	about, err := file.GetRows("about")
	if err != nil || len(about) != 2 || about[1][1] != "=a\nb" {
		t.Error(about, err)
	}
	if n := file.GetDefinedName(); len(n) != 1 || n[0].RefersTo != "'durations'!$A$1:$O$3" {
		t.Errorf("the filter: %+v", n)
	}
}

// A text too long for a cell is truncated, and this is reported.
func TestXLSXLongText(t *testing.T) {
	column := []value.Column{{Name: "t", Kind: value.Text}}
	fits, long := strings.Repeat("é", 32_767), strings.Repeat("😀", 20_000)
	var out bytes.Buffer
	r, err := format.Write(t.Context(), &out, format.XLSX, format.NewStatic(column, [][]any{{fits}, {long}}), format.Options{})
	if err != nil || len(r.Notes) != 1 || r.Notes[0] != "texts longer than the 32,767 characters of an Excel cell are cut (1): use the format csv for the full text" {
		t.Fatal(err, r.Notes)
	}
	_, got := readSheet(t, out.Bytes())
	if got[1][0].Raw != fits || got[2][0].Raw != strings.Repeat("😀", 16_383) {
		t.Errorf("%d and %d bytes", len(got[1][0].Raw), len(got[2][0].Raw))
	}
}
