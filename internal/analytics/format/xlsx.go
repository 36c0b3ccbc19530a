package format

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"callhouse/internal/analytics/value"
	"callhouse/internal/scratch"
)

// ErrSheetFull reports an answer with more rows than a sheet holds.
var ErrSheetFull = errors.New("the answer exceeds the 1,048,576 rows of an Excel sheet, heading included")

// digits is the precision of a number in Excel.
const digits = 15

const sheetName = "Sheet1" // Excel's default name

// writeXLSX writes a workbook with one sheet of typed cells, so that no text becomes a formula or a
// number. Rows wait in a temporary file, because a workbook's parts are consecutive; w gets nothing
// before the last row.
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
		texts := value.Thousands(fmt.Sprint(s.cut)) + " texts are"
		if s.cut == 1 {
			texts = "1 text is"
		}
		r.Notes = append(r.Notes, fmt.Sprintf("%s cut to %s characters, the maximum of an Excel cell: use the format csv for the full text",
			texts, value.Thousands(fmt.Sprint(excelize.TotalCellChars))))
	}
	if err := errors.Join(s.to.Flush(), file.Write(io.Discard)); err != nil { // to w, through s.to
		return r, fmt.Errorf("write xlsx: %w", err)
	}
	return r, nil
}

// sheet is a sheet being written.
type sheet struct {
	to           *excelize.StreamWriter
	loc          *time.Location
	instant, day int // styles
	rows         int
	cells        []any
	cut          int64 // texts longer than a cell
}

func newSheet(file *excelize.File, columns []value.Column, o Options) (*sheet, error) {
	s := &sheet{loc: o.Location, cells: make([]any, len(columns))}
	var bold int
	var errs [4]error
	instant, day := "yyyy-mm-dd hh:mm:ss", "yyyy-mm-dd"
	s.instant, errs[0] = file.NewStyle(&excelize.Style{CustomNumFmt: &instant})
	s.day, errs[1] = file.NewStyle(&excelize.Style{CustomNumFmt: &day})
	bold, errs[2] = file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	s.to, errs[3] = file.NewStreamWriter(sheetName)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	head := make([]any, len(columns))
	for i, name := range uniqueNames(columns) {
		head[i] = excelize.Cell{StyleID: bold, Value: name}
		width := max(12, len(name)+2)
		if k := columns[i].Kind; k == value.Instant || k == value.Local {
			width = max(20, width) // Excel shows a time in a narrow column as ########
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

func (s *sheet) add(row []value.Value) error {
	if s.rows++; s.rows > excelize.TotalRows {
		return ErrSheetFull
	}
	for i := range row {
		s.cells[i] = s.cell(&row[i])
	}
	if err := s.to.SetRow("A"+strconv.Itoa(s.rows), s.cells); err != nil {
		return fmt.Errorf("write row %d of the sheet: %w", s.rows, err)
	}
	return nil
}

// cell converts a value for the library. Values without an Excel type are text.
func (s *sheet) cell(v *value.Value) any {
	switch v.Kind {
	case value.Null, value.Bool:
		return v.Go()
	case value.Integer:
		if d, _, _ := v.Digits(nil); len(d) <= digits {
			return v.Int()
		}
	case value.Exact:
		return v.Float()
	case value.Float:
		if !v.Odd() {
			return v.Go()
		}
	case value.Instant, value.Local, value.Day:
		if t := v.Time().In(zoneOf(v, s.loc)); t.Year() > 1900 && t.Year() < 10000 { // Excel has no other days
			style := s.instant
			if v.Kind == value.Day {
				style = s.day
			}
			return excelize.Cell{StyleID: style, Value: t}
		}
	}
	text := string(v.AppendText(nil, s.loc))
	if len(text) > excelize.TotalCellChars && len(utf16.Encode([]rune(text))) > excelize.TotalCellChars {
		s.cut++ // the library cuts it
	}
	return text
}
