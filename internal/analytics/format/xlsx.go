package format

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/klauspost/compress/flate"

	"callhouse/internal/analytics/human"
	"callhouse/internal/analytics/value"
)

// ErrSheetFull reports an answer with more rows than a sheet holds.
var ErrSheetFull = errors.New("the answer exceeds the 1,048,576 rows of an Excel sheet, heading included")

// The limits of Excel.
const (
	sheetRows    = 1_048_576
	sheetColumns = 16_384
	cellChars    = 32_767 // of UTF-16
	digits       = 15     // precision of a number
	maxWidth     = 255
	firstSheet   = -25_202   // 1901-01-01, as a day since 1970
	afterSheet   = 2_932_897 // 10000-01-01
	sheetEpoch   = 25_569    // days from Excel's day 0 to 1970-01-01
)

// sheetBytes is how much of a sheet is compressed at once.
const sheetBytes = 16 << 10

// Attributes of cells: their type, and their style in workbook/xl/styles.xml.
const (
	asNumber  = ""
	asBool    = ` t="b"`
	asInstant = ` s="1"`
	asDay     = ` s="2"`
	asWords   = ` t="inlineStr"`
	asHead    = ` t="inlineStr" s="3"`
)

// workbook has the parts of a workbook besides its sheet.
//
//go:embed all:workbook
var workbook embed.FS

// writeXLSX writes a workbook with one sheet of typed cells, so that no text becomes a formula or a
// number. Rows are written as they come.
func writeXLSX(ctx context.Context, w *bufio.Writer, src Source, o Options) (r Result, err error) {
	columns := src.Columns()
	if len(columns) > sheetColumns {
		return r, fmt.Errorf("write xlsx: a sheet holds %d columns, the answer has %d", sheetColumns, len(columns))
	}
	file := zip.NewWriter(w)
	file.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	parts, _ := fs.Sub(workbook, "workbook")
	err = file.AddFS(parts)
	to, err2 := file.Create("xl/worksheets/sheet1.xml")
	if err := errors.Join(err, err2); err != nil {
		return r, fmt.Errorf("write xlsx: %w", err)
	}
	s := &sheet{to: to, loc: o.Location}
	s.begin(columns)
	if r, err = each(ctx, src, s.add); err != nil {
		return r, err // without its end, no reader accepts it as complete
	}
	s.line.WriteString("</sheetData></worksheet>")
	_, err = s.line.WriteTo(to)
	if err := errors.Join(err, file.Close()); err != nil {
		return r, fmt.Errorf("write xlsx: %w", err)
	}
	if s.cut > 0 {
		texts := human.Thousands(fmt.Sprint(s.cut)) + " texts are"
		if s.cut == 1 {
			texts = "1 text is"
		}
		r.Notes = append(r.Notes, fmt.Sprintf("%s cut to %s characters, the maximum of an Excel cell: use %s for the full text",
			texts, human.Thousands(fmt.Sprint(cellChars)), o.instead()))
	}
	return r, nil
}

// sheet is a sheet being written.
type sheet struct {
	to    io.Writer
	loc   *time.Location
	line  bytes.Buffer // not written yet
	text  []byte       // of a cell
	names []string     // of the columns: A, B, …
	rows  int
	cut   int64 // texts longer than a cell
}

// begin begins the sheet: widths, a frozen heading.
func (s *sheet) begin(columns []value.Column) {
	s.line.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` +
		`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0">` +
		`<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>`)
	heads := uniqueNames(columns)
	for i, name := range heads {
		width := max(12, len(name)+2)
		if k := columns[i].Kind; k == value.Instant || k == value.Local {
			width = max(20, width) // Excel shows a time in a narrow column as ########
		}
		fmt.Fprintf(&s.line, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, i+1, i+1, min(width, maxWidth))
		s.names = append(s.names, columnName(i))
	}
	s.line.WriteString(`</cols><sheetData>`)
	s.row(len(heads), func(i int) { s.inline(i, []byte(heads[i]), asHead) })
}

// columnName returns the letters of a column, counted from 0.
func columnName(i int) (name string) {
	for i++; i > 0; i = (i - 1) / 26 {
		name = string(rune('A'+(i-1)%26)) + name
	}
	return name
}

// row writes a row of n cells.
func (s *sheet) row(n int, cell func(i int)) {
	s.rows++
	fmt.Fprintf(&s.line, `<row r="%d">`, s.rows)
	for i := range n {
		cell(i)
	}
	s.line.WriteString("</row>")
}

func (s *sheet) add(row []value.Value) error {
	if s.rows == sheetRows {
		return ErrSheetFull
	}
	if s.row(len(row), func(i int) { s.cell(i, &row[i]) }); s.line.Len() < sheetBytes {
		return nil
	}
	if _, err := s.line.WriteTo(s.to); err != nil {
		return fmt.Errorf("write row %d of the sheet: %w", s.rows, err)
	}
	return nil
}

// cell writes a value. Values without an Excel type are text.
func (s *sheet) cell(column int, v *value.Value) {
	var buf [48]byte
	switch v.Kind {
	case value.Null:
		return
	case value.Bool:
		s.number(column, asBool, append(buf[:0], '0'+byte(v.Low)))
		return
	case value.Integer:
		if d, _, _ := v.Digits(buf[:0]); len(d) <= digits {
			s.number(column, asNumber, v.AppendNumber(buf[:0], 0))
			return
		}
	case value.Exact:
		s.number(column, asNumber, strconv.AppendFloat(buf[:0], v.Float(), 'f', -1, 64))
		return
	case value.Float:
		if !v.Odd() {
			s.number(column, asNumber, strconv.AppendFloat(buf[:0], v.Float(), 'f', -1, int(v.Scale)))
			return
		}
	case value.Instant, value.Local, value.Day:
		if day, nanos, _ := v.Wall(s.loc); day >= firstSheet && day < afterSheet {
			as := asInstant
			if v.Kind == value.Day {
				as = asDay
			}
			serial := float64(day+sheetEpoch) + float64(nanos)/float64(24*time.Hour)
			s.number(column, as, strconv.AppendFloat(buf[:0], serial, 'f', -1, 64))
			return
		}
	}
	s.text = v.AppendText(s.text[:0], s.loc)
	s.inline(column, s.text, asWords)
}

// open begins a cell.
func (s *sheet) open(column int, as string) {
	s.line.WriteString(`<c r="`)
	s.line.WriteString(s.names[column])
	s.line.Write(strconv.AppendInt(s.line.AvailableBuffer(), int64(s.rows), 10))
	s.line.WriteString(`"`)
	s.line.WriteString(as)
}

func (s *sheet) number(column int, as string, text []byte) {
	s.open(column, as)
	s.line.WriteString("><v>")
	s.line.Write(text)
	s.line.WriteString("</v></c>")
}

// escapeRE matches what Excel would take for an escaped character.
var escapeRE = regexp.MustCompile(`_x[0-9a-fA-F]{4}_`)

// inline writes a text.
func (s *sheet) inline(column int, text []byte, as string) {
	if end := cellEnd(text); end < len(text) {
		text = text[:end]
		s.cut++
	}
	if bytes.Contains(text, []byte("_x")) {
		text = escapeRE.ReplaceAll(text, []byte("_x005F$0"))
	}
	s.open(column, as)
	s.line.WriteString(`><is><t xml:space="preserve">`)
	_ = xml.EscapeText(&s.line, text) // a buffer cannot fail
	s.line.WriteString("</t></is></c>")
}

// cellEnd returns how many bytes of a text fit into a cell.
func cellEnd(text []byte) int {
	if len(text) <= cellChars {
		return len(text)
	}
	n := 0
	for i, r := range string(text) {
		if n += max(1, utf16.RuneLen(r)); n > cellChars {
			return i
		}
	}
	return len(text)
}
