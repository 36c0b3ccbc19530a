package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/analytics/value"
)

// copyOptions are the options of COPY.
type copyOptions struct {
	csv, binary, header bool
	delimiter           string
	null                *string
}

// copyCommand is COPY … TO STDOUT.
func (c *client) copyCommand(w *words) (*command, error) {
	query, err := w.copied()
	if err != nil {
		return nil, err
	}
	if w.take("from") {
		return nil, &Error{Code: codeReadOnly, Message: "cannot execute COPY FROM in a read-only transaction"}
	}
	if !w.take("to") {
		return nil, w.wrong()
	}
	if !w.take("stdout") {
		return nil, &Error{Code: "42501", Message: "permission denied to COPY to a file",
			Hint: "use COPY ... TO STDOUT, which sends the rows to the client, or psql's \\copy, which writes them to a file there"}
	}
	o, err := w.copyOptions()
	if err != nil {
		return nil, err
	}
	return &command{run: func(ctx context.Context, p *portal) (string, error) {
		s, err := c.prepare(ctx, query, nil)
		if err != nil {
			return "", err
		}
		defer s.close()
		if s.query == nil || len(s.params()) > 0 {
			return "", fail(codeSyntax, "COPY supports one query without parameters")
		}
		return c.copyOut(ctx, s, o, p.run)
	}}, nil
}

// copied takes the source: a query in parentheses, or a table with optional columns.
func (w *words) copied() (query string, err error) {
	if w.take("(") {
		from := w.at
		for depth := 1; !w.end(); w.at++ {
			switch w.Tokens[w.at].Text {
			case "(":
				depth++
			case ")":
				depth--
			}
			if depth == 0 {
				break
			}
		}
		if w.end() || w.at == from {
			return "", w.wrong()
		}
		w.at++
		return w.Between(from, w.at-1), nil
	}
	from := w.at
	if _, ok := w.name(); !ok {
		return "", w.wrong()
	}
	for w.take(".") {
		if _, ok := w.name(); !ok {
			return "", w.wrong()
		}
	}
	table, columns := w.Between(from, w.at), "*"
	if w.take("(") {
		from := w.at
		for !w.end() && w.Tokens[w.at].Text != ")" {
			w.at++
		}
		if w.end() || w.at == from {
			return "", w.wrong()
		}
		columns = w.Between(from, w.at)
		w.at++
	}
	return "SELECT " + columns + " FROM " + table, nil
}

// copyOptions takes the options, in either of Postgres' two syntaxes.
func (w *words) copyOptions() (*copyOptions, error) {
	o := &copyOptions{}
	w.take("with")
	w.take("(")
	for !w.end() && !w.take(")") {
		if w.take("format"); w.end() {
			return nil, w.wrong()
		}
		word := strings.ToLower(strings.Trim(w.Tokens[w.at].Value(), `"`)) // a format may be in quotes
		w.at++
		text := func() string {
			if w.take("as"); w.end() {
				return ""
			}
			w.at++
			return w.Tokens[w.at-1].Value()
		}
		switch word {
		case "csv":
			o.csv = true
		case "binary":
			o.binary = true
		case "text", ",":
		case "encoding":
			if _, err := encoding(text()); err != nil {
				return nil, err
			}
		case "header":
			if o.header = !w.takeAny("false", "off", "0"); o.header {
				w.takeAny("true", "on", "1")
			}
		case "delimiter":
			o.delimiter = text()
		case "null":
			null := text()
			o.null = &null
		default:
			return nil, fail(codeUnsupported, fmt.Sprintf("the option %q of COPY is not supported", word))
		}
	}
	if !w.end() {
		return nil, w.wrong()
	}
	if o.delimiter == "" {
		o.delimiter = "\t"
		if o.csv {
			o.delimiter = ","
		}
	}
	if len(o.delimiter) != 1 {
		return nil, fail(codeBadParameter, "COPY delimiter must be a single one-byte character")
	}
	return o, nil
}

func (c *client) copyOut(ctx context.Context, s *statement, o *copyOptions, r *run) (tag string, err error) {
	columns := s.columns()
	format := byte(0)
	if o.binary {
		format = 1
	}
	codes := make([]uint16, len(columns))
	for i := range codes {
		codes[i] = uint16(format)
	}
	rows, err := s.query.Query(ctx, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	c.send(&pgproto3.CopyOutResponse{OverallFormat: format, ColumnFormatCodes: codes})
	w := &copyWriter{copyOptions: o, client: c}
	w.begin(columns)
	n, _, err := c.eachRow(ctx, rows, 0, r, func(row []value.Value) error { return w.row(columns, row) })
	if err != nil {
		return "", err
	}
	if o.binary {
		at := w.open()
		c.out.bytes = binary.BigEndian.AppendUint16(c.out.bytes, math.MaxUint16)
		c.out.shut(at)
	}
	if err := c.sendBatch(ctx, 1); err != nil {
		return "", err
	}
	c.send(&pgproto3.CopyDone{})
	return fmt.Sprintf("COPY %d", n), nil
}

// copyWriter encodes rows as messages in the client's batch.
type copyWriter struct {
	*copyOptions
	*client
	buf     []byte
	prefix  string      // of the first message
	escaped [256]string // replacement of each byte in text format; empty: the byte itself
}

// open begins a data message.
func (w *copyWriter) open() (length int) {
	length = w.out.open('d')
	w.out.bytes = append(w.out.bytes, w.prefix...)
	w.prefix = ""
	return length
}

func (w *copyWriter) begin(columns []Column) {
	w.escaped[w.delimiter[0]] = `\` + w.delimiter
	for i, b := range []byte("\b\f\n\r\t\v\\") {
		w.escaped[b] = `\` + `bfnrtv\`[i:i+1]
	}
	switch {
	case w.binary: // readers expect it with the first row, as Postgres sends it
		w.prefix = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	case w.header:
		at := w.open()
		for i, c := range columns {
			if i > 0 {
				w.out.bytes = append(w.out.bytes, w.delimiter...)
			}
			w.cell([]byte(c.Name))
		}
		w.out.bytes = append(w.out.bytes, '\n')
		w.out.shut(at)
	}
}

func (w *copyWriter) row(columns []Column, row []value.Value) error {
	at := w.open()
	if w.binary {
		w.out.bytes = binary.BigEndian.AppendUint16(w.out.bytes, uint16(len(row)))
	}
	for i := range row {
		v := &row[i]
		if w.binary {
			if err := w.out.cell(&columns[i], v, true, w.zone); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			w.out.bytes = append(w.out.bytes, w.delimiter...)
		}
		switch {
		case v.Kind != value.Null:
			w.buf = columns[i].Type.AppendText(w.buf[:0], v, w.zone)
			w.cell(w.buf)
		case w.null != nil:
			w.out.bytes = append(w.out.bytes, *w.null...)
		case !w.csv:
			w.out.bytes = append(w.out.bytes, `\N`...)
		}
	}
	if !w.binary {
		w.out.bytes = append(w.out.bytes, '\n')
	}
	w.out.shut(at)
	return nil
}

// cell writes the text of a value.
func (w *copyWriter) cell(text []byte) {
	switch null := w.null; {
	case !w.csv:
		for _, b := range text {
			if with := w.escaped[b]; with != "" {
				w.out.bytes = append(w.out.bytes, with...)
			} else {
				w.out.bytes = append(w.out.bytes, b)
			}
		}
	case bytes.ContainsAny(text, w.delimiter+"\"\n\r"), string(text) == `\.`, null == nil && len(text) == 0,
		null != nil && string(text) == *null:
		w.out.bytes = append(append(append(w.out.bytes, '"'), bytes.ReplaceAll(text, []byte(`"`), []byte(`""`))...), '"')
	default:
		w.out.bytes = append(w.out.bytes, text...)
	}
}
