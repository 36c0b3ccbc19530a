package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/analytics/value"
)

// run is a running statement, for the audit.
type run struct {
	Entry
	c     *client
	ended bool
}

func (c *client) start(text string) *run {
	r := &run{c: c, Entry: Entry{Run: c.host.begun.Add(1), At: time.Now(), User: c.User, From: c.From,
		Application: c.setting("application_name"), Text: text}}
	if c.host.Began != nil {
		c.host.Began(r.Entry)
	}
	return r
}

// planned records that the statement was only planned.
func (r *run) planned() {
	if r.c.host.Ended != nil {
		r.ended = true
		r.c.host.Ended(r.Entry)
	}
}

// about names the query whose rows a statement reads.
func (r *run) about(query string) {
	if r.Text += " /* " + query + " */"; r.c.host.Began != nil {
		r.c.host.Began(r.Entry)
	}
}

func (r *run) end(err error) {
	if r.ended || r.c.host.Ended == nil {
		return
	}
	r.ended, r.Took, r.Code = true, time.Since(r.At), "00000"
	if err != nil {
		r.Code = asError(err).Code
	}
	r.c.host.Ended(r.Entry)
}

// because returns the cause of ctx if it is done.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// simple runs the statements of one text in order until one fails.
func (c *client) simple(ctx context.Context, text string) {
	if err := readable([]byte(text)); err != nil {
		c.start(text).end(err)
		_ = c.fail(err)
		c.failed = false
		return
	}
	all := Split(text)
	if len(all) == 0 {
		c.send(&pgproto3.EmptyQueryResponse{})
	}
	ctx, done := c.limited(ctx)
	defer done()
	if old := c.statements[""]; old != nil { // as Postgres does
		old.close()
		delete(c.statements, "")
	}
	c.several = len(all) > 1
	defer func() { c.several = false }()
	for _, one := range all {
		r := c.start(strings.TrimSpace(one.Text))
		err := because(ctx, c.simpleOne(ctx, one, r))
		r.end(err)
		if err != nil {
			_ = c.fail(err) // the next read fails if the client is gone
			c.failed = false
			return
		}
	}
}

func (c *client) simpleOne(ctx context.Context, text Statement, r *run) error {
	s, err := c.prepareOne(ctx, text, nil)
	if err != nil {
		return err
	}
	defer s.close()
	if n := len(s.params()); n > 0 {
		return fail("42P02", "there is no parameter $1")
	}
	p := &portal{statement: s, run: r}
	defer p.close()
	if s.command == nil || len(s.command.columns) > 0 {
		c.sendColumns(s.columns(), p.format)
	}
	return c.runPortal(ctx, p, 0)
}

func (c *client) execute(ctx context.Context, m *pgproto3.Execute) error {
	p := c.portals[m.Portal]
	if p == nil {
		return fail(codeNoCursor, fmt.Sprintf("portal %q does not exist", m.Portal))
	}
	if p.run == nil {
		p.run = c.start(p.text)
	}
	ctx, done := c.limited(ctx)
	defer done()
	err := because(ctx, c.runPortal(ctx, p, int64(m.MaxRows)))
	if err != nil || p.done {
		p.run.end(err)
	}
	if err != nil {
		p.close()
		return err
	}
	return nil
}

// runPortal runs or resumes a portal and sends the outcome. limit is the maximum number of rows; 0:
// all.
func (c *client) runPortal(ctx context.Context, p *portal, limit int64) error {
	switch {
	case p.empty:
		p.done = true
		c.send(&pgproto3.EmptyQueryResponse{})
		return nil
	case p.command != nil:
		p.done = true
		tag, err := p.command.run(ctx, p)
		if err == nil {
			c.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
		}
		return err
	}
	if err := c.sendRows(ctx, p, limit); err != nil {
		return err
	}
	if !p.done {
		c.send(&pgproto3.PortalSuspended{})
		return nil
	}
	c.send(&pgproto3.CommandComplete{CommandTag: fmt.Appendf(nil, "SELECT %d", p.sent)})
	return nil
}

// sendRows sends up to limit rows of a portal, 0: all; p.done reports the end.
func (c *client) sendRows(ctx context.Context, p *portal, limit int64) (err error) {
	if c.state == 'E' {
		return errAborted
	}
	if p.done {
		return nil
	}
	if p.rows == nil {
		if p.rows, err = p.query.Query(ctx, p.args); err != nil {
			return err
		}
	}
	columns := p.columns()
	_, p.done, err = c.eachRow(ctx, p.rows, limit, p.run, func(row []value.Value) error {
		p.sent++
		return c.out.row(columns, row, p, c.zone)
	})
	if p.done {
		p.close()
	}
	if err != nil {
		return err
	}
	return c.sendBatch(ctx, 1)
}

// eachRow encodes up to limit rows, 0: all, and sends them in batches. eof reports the end.
func (c *client) eachRow(ctx context.Context, rows Rows, limit int64, r *run,
	encode func(row []value.Value) error) (n int64, eof bool, err error) {
	for ; limit == 0 || n < limit; n++ {
		row, err := rows.Values(ctx)
		if errors.Is(err, io.EOF) {
			return n, true, nil
		}
		if err == nil {
			err = encode(row)
		}
		if err != nil {
			return n, false, err
		}
		r.Rows++
		if err := c.sendBatch(ctx, batchBytes); err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}

// batchBytes is the size at which encoded rows are sent.
const batchBytes = 64 << 10

// sendBatch sends the encoded rows if they have at least least bytes.
func (c *client) sendBatch(ctx context.Context, least int) error {
	if len(c.out.bytes) < least {
		return nil
	}
	defer func() { c.out.bytes = c.out.bytes[:0] }()
	c.send(&c.out)
	if least > 1 || len(c.out.bytes) > batchBytes {
		if err := c.flush(); err != nil {
			return errGone
		}
	}
	return context.Cause(ctx)
}

// batch is a number of encoded messages, sent at once.
type batch struct{ bytes []byte }

// Backend implements pgproto3.BackendMessage.
func (*batch) Backend() {}

// Decode implements pgproto3.Message. It is never called.
func (*batch) Decode([]byte) error { return errors.ErrUnsupported }

// Encode implements pgproto3.Message.
func (b *batch) Encode(dst []byte) ([]byte, error) { return append(dst, b.bytes...), nil }

// open starts a message and returns the position of its length.
func (b *batch) open(kind byte) (length int) {
	b.bytes = append(b.bytes, kind, 0, 0, 0, 0)
	return len(b.bytes) - 4
}

// shut ends a message. length is the position of its length.
func (b *batch) shut(length int) {
	binary.BigEndian.PutUint32(b.bytes[length:], uint32(len(b.bytes)-length))
}

// row encodes a row of data.
func (b *batch) row(columns []Column, row []value.Value, p *portal, zone *time.Location) error {
	at := b.open('D')
	b.bytes = binary.BigEndian.AppendUint16(b.bytes, uint16(len(row)))
	for i := range row {
		if err := b.cell(&columns[i], &row[i], p.format(i) == pgproto3.BinaryFormat, zone); err != nil {
			return err
		}
	}
	b.shut(at)
	return nil
}

// cell encodes the length of a value, and the value.
func (b *batch) cell(c *Column, v *value.Value, isBinary bool, zone *time.Location) (err error) {
	length := len(b.bytes)
	b.bytes = binary.BigEndian.AppendUint32(b.bytes, math.MaxUint32) // the length of null
	switch {
	case v.Kind == value.Null:
		return nil
	case isBinary:
		if b.bytes, err = c.Type.AppendBinary(b.bytes, v, zone); err != nil {
			b.bytes = b.bytes[:0]
			return &Error{Code: codeUnsupported, Message: fmt.Sprintf("column %q: %v", c.Name, err)}
		}
	default:
		b.bytes = c.Type.AppendText(b.bytes, v, zone)
	}
	binary.BigEndian.PutUint32(b.bytes[length:], uint32(len(b.bytes)-length-4))
	return nil
}
