package format

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"callhouse/internal/analytics/value"
	"callhouse/internal/scratch"
)

// ErrSheetFull reports an answer with more rows than a sheet holds.
var ErrSheetFull = errors.New("the answer exceeds the 1,048,576 rows of an Excel sheet, heading included")

// writeXLSX writes a workbook with one sheet of typed cells, so that no text becomes a formula or a number, and a second
// one about the answer. Rows wait in a temporary file, because a workbook's parts are consecutive; w gets nothing before
// the last row. The sheets name no range of their cells: the library would write A1 before it knows, and readers obey.
func writeXLSX(ctx context.Context, w *bufio.Writer, src Source, o Options) (r Result, err error) {
	temp, err := scratch.MakeIfPossible(scratch.Sheet) // only a large sheet needs it
	if err != nil {
		return r, fmt.Errorf("create a folder for the sheet's rows: %w", err)
	}
	file := excelize.NewFile(excelize.Options{TmpDir: temp.Where()})
	defer func() { err = errors.Join(err, file.Close(), temp.Remove()) }()
	file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return zip.NewWriter(w) }) // the library's own writer holds everything in memory
	s, err := newSheet(file, src.Columns(), o)
	if err != nil {
		return r, fmt.Errorf("write xlsx: %w", err)
	}
	if r, err = each(ctx, src, s.add); err != nil {
		return r, err
	}
	if s.cut > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("texts longer than the 32,767 characters of an Excel cell are cut (%d): "+
			"use the format csv for the full text", s.cut))
	}
	last, err := excelize.CoordinatesToCellName(len(s.columns), s.rows)
	if err = errors.Join(err, file.AutoFilter(s.to.Sheet, "A1:"+last, nil), s.to.Flush()); err != nil {
		return r, fmt.Errorf("write xlsx: %w", err)
	}
	if o.About != nil {
		about, err := o.About(ctx)
		if err = cmp.Or(err, s.about(about)); err != nil {
			return r, err
		}
	}
	if err := file.Write(io.Discard); err != nil { // to w, through SetZipWriter
		return r, fmt.Errorf("write xlsx: %w", err)
	}
	return r, nil
}

// sheet is a sheet being written.
type sheet struct {
	file    *excelize.File
	to      *excelize.StreamWriter
	loc     *time.Location
	columns []value.Column
	styles  map[string]int // by number format
	rows    int
	cells   []any
	cut     int64 // texts longer than a cell
}

func newSheet(file *excelize.File, columns []value.Column, o Options) (*sheet, error) {
	s := &sheet{file: file, loc: o.Location, columns: columns, cells: make([]any, len(columns)), styles: map[string]int{"": 0}}
	name := cmp.Or(o.Title, "Sheet1")
	bold, err := file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true},
		Fill:   excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"DDE5EE"}},
		Border: []excelize.Border{{Type: "bottom", Color: "7F8FA3", Style: 1}}})
	if err = errors.Join(err, file.SetSheetName("Sheet1", name), file.SetSheetDimension(name, "")); err != nil {
		return nil, err
	}
	if s.to, err = file.NewStreamWriter(name); err != nil {
		return nil, err
	}
	titled := slices.Clone(columns)
	for i, c := range columns {
		titled[i].Name = sheetHeading(c, o.Location)
	}
	head := make([]any, len(columns))
	for i, name := range uniqueNames(titled) {
		head[i] = excelize.Cell{StyleID: bold, Value: name}
		width := max(12, widthOf(name)+4) // with room for the filter's button
		if c := columns[i]; c.Kind == value.Instant || c.Kind == value.Local || c.Unit == value.Millis {
			width = max(24, width) // Excel shows a time in a narrow column as ########
		}
		if err := s.to.SetColWidth(i+1, i+1, float64(min(width, excelize.MaxColumnWidth))); err != nil {
			return nil, err
		}
	}
	if err := s.to.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
		return nil, err
	}
	s.rows = 1
	return s, s.to.SetRow("A1", head)
}

// sheetHeading returns the heading of a column in a workbook, where milliseconds are durations, and their changes seconds.
func sheetHeading(c value.Column, loc *time.Location) string {
	if c.Kind != value.Integer || c.Unit != value.Millis {
		return zoned(c, loc)
	}
	name := strings.TrimSuffix(c.Name, "_ms")
	if isChange(c) {
		name += " (s)"
	}
	return name
}

// isChange reports whether a column holds differences, which Excel cannot show as durations if they are negative.
func isChange(c value.Column) bool { return strings.HasPrefix(c.Name, value.ChangeOf) }

// about adds a sheet of names and values.
func (s *sheet) about(lines [][2]string) error {
	const name = "about"
	_, err := s.file.NewSheet(name)
	wrapped, failed := s.file.NewStyle(&excelize.Style{Alignment: &excelize.Alignment{Vertical: "top", WrapText: true}})
	err = errors.Join(err, failed, s.file.SetColStyle(name, "A:B", wrapped), s.file.SetColWidth(name, "A", "A", 16),
		s.file.SetColWidth(name, "B", "B", 100), s.file.SetSheetDimension(name, ""))
	for i, line := range lines {
		row := strconv.Itoa(i + 1)
		err = errors.Join(err, s.file.SetCellStr(name, "A"+row, line[0]), s.file.SetCellStr(name, "B"+row, line[1]))
	}
	if err != nil {
		return fmt.Errorf("write xlsx: %w", err)
	}
	return nil
}

func (s *sheet) add(row []value.Value) error {
	if s.rows++; s.rows > excelize.TotalRows {
		return ErrSheetFull
	}
	for i := range row {
		s.cells[i] = s.cell(&row[i], s.columns[i])
	}
	if err := s.to.SetRow("A"+strconv.Itoa(s.rows), s.cells); err != nil {
		return fmt.Errorf("write row %d of the sheet: %w", s.rows, err)
	}
	return nil
}

// cell converts a value for the library. Values without an Excel type are text.
func (s *sheet) cell(v *value.Value, c value.Column) any {
	switch v.Kind {
	case value.Null, value.Bool:
		return v.Go()
	case value.Integer, value.Exact, value.Float:
		if countable(v) {
			x, format := s.number(v, c)
			return s.styled(x, format)
		}
	case value.Instant, value.Local, value.Day:
		if t := clock(v, s.loc); t.Year() > 1900 && t.Year() < 10000 { // Excel has no other days
			format := "yyyy-mm-dd hh:mm:ss"
			switch {
			case v.Kind == value.Day:
				format = "yyyy-mm-dd"
			case t.Nanosecond() >= 1e6:
				format += ".000"
			}
			return s.styled(t, format)
		}
	}
	text := string(v.AppendText(nil, s.loc))
	if len(text) > excelize.TotalCellChars && len(utf16.Encode([]rune(text))) > excelize.TotalCellChars {
		s.cut++ // the library cuts it
	}
	return text
}

// dayMillis is a day, which Excel counts as 1.
const dayMillis = 86_400_000

// numberFormats are those of units, as close to the terminal's as Excel can.
var numberFormats = map[value.Unit]string{value.Count: "#,##0", value.Money: "#,##0.00##", value.Number: "#,##0.0##",
	value.Points: "+0.0;-0.0;0.0"}

// number returns a number for a cell, and its format. Durations below a minute show milliseconds.
func (s *sheet) number(v *value.Value, c value.Column) (x any, format string) {
	f := v.Float()
	switch isMillis := v.Kind == value.Integer && c.Unit == value.Millis; {
	case isMillis && isChange(c):
		return f / 1000, "+#,##0.000;-#,##0.000;0.000"
	case isMillis && f < 0: // Excel shows them as ########
		return value.Duration(v.Big()), ""
	case isMillis && f < 59_950:
		return f / dayMillis, "[h]:mm:ss.000"
	case isMillis:
		return f / dayMillis, "[h]:mm:ss"
	case v.Kind == value.Float && c.Unit == value.Percent:
		return f / 100, "0.0 %"
	case v.Kind == value.Integer && c.Unit != value.Count:
		return v.Int(), ""
	case v.Kind == value.Exact:
		return f, numberFormats[c.Unit]
	}
	return v.Go(), numberFormats[c.Unit]
}

// styled returns a cell with a number format.
func (s *sheet) styled(x any, format string) any {
	if _, known := s.styles[format]; !known {
		s.styles[format], _ = s.file.NewStyle(&excelize.Style{CustomNumFmt: &format}) // every format is valid
	}
	return excelize.Cell{StyleID: s.styles[format], Value: x}
}
