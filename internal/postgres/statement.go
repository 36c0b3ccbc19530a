package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// statement is a prepared query, or a command about the session.
type statement struct {
	text    string
	query   Prepared // nil: a command without parameters, or empty
	command *command
	empty   bool
	types   []uint32 // of the parameters, declared by the client
}

func (s *statement) close() {
	if s.query != nil {
		s.query.Close()
	}
}

func (s *statement) columns() []Column {
	switch {
	case s.command != nil:
		return s.command.columns
	case s.query != nil:
		return s.query.Columns()
	}
	return nil
}

// params returns the types of the parameters: declared by the client, else inferred.
func (s *statement) params() []Type {
	if s.query == nil {
		return nil
	}
	types := s.query.Params()
	for i, oid := range s.types {
		if i < len(types) && oid != 0 && oid != 705 { // 705: unknown
			types[i] = TypeByOID(oid)
			types[i].OID = oid
		}
	}
	return types
}

// portal is a statement with values, running or about to run.
type portal struct {
	*statement
	args     []any
	formats  []int16
	rows     Rows
	sent     int64
	done     bool
	run      *run
	owns     bool // of a cursor: closing the portal closes the statement
	holds    bool // of a cursor: it outlives its transaction
	outlived bool // the transaction has ended
}

// drop ends a portal, whose remaining rows the client may not have read.
func (p *portal) drop() {
	p.close()
	if p.owns {
		p.statement.close()
	} else if p.run != nil { // for a cursor, FETCH is the running statement
		p.run.end(nil)
	}
}

func (p *portal) close() {
	if p.rows != nil {
		p.rows.Close()
		p.rows = nil
	}
}

func (p *portal) format(column int) int16 {
	switch len(p.formats) {
	case 0:
		return pgproto3.TextFormat
	case 1:
		return p.formats[0]
	}
	return p.formats[column]
}

func (c *client) closePortals() {
	for name, p := range c.portals {
		p.drop()
		delete(c.portals, name)
	}
}

// over ends a transaction, its settings and its view. While cursors WITH HOLD remain open, later statements see
// the same commit.
func (c *client) over(committed bool) {
	c.keep(committed)
	for name, p := range c.portals {
		if p.outlived = p.outlived || p.holds && committed; p.outlived {
			continue
		}
		p.drop()
		delete(c.portals, name)
	}
	if len(c.portals) == 0 {
		c.see(false)
	}
}

// prepare makes a statement of a text with one statement or none.
func (c *client) prepare(ctx context.Context, text string, types []uint32) (*statement, error) {
	all := Split(text)
	switch {
	case len(all) == 0:
		return &statement{empty: true}, nil
	case len(all) > 1:
		return nil, fail(codeSyntax, "cannot insert multiple commands into a prepared statement")
	}
	return c.prepareOne(ctx, all[0], types)
}

func (c *client) prepareOne(ctx context.Context, text Statement, types []uint32) (s *statement, err error) {
	s = &statement{text: strings.TrimSpace(text.Text), types: types}
	if c.state == 'E' && !endsTransaction(text) {
		return nil, errAborted
	}
	if s.command, err = c.commandOf(text); err != nil {
		return s, err
	}
	if s.command != nil {
		all := Split(s.command.query)
		if len(all) != 1 {
			return s, nil
		}
		text = all[0]
	}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	s.query, err = c.session.Prepare(ctx, text.ForDuckDB(), types)
	return s, err
}

// endsTransaction reports whether a statement is allowed in a failed transaction.
func endsTransaction(text Statement) bool {
	for _, word := range []string{"commit", "end", "rollback", "abort"} {
		if text.Tokens[0].Is(word) {
			return true
		}
	}
	return false
}

func (c *client) parse(ctx context.Context, m *pgproto3.Parse) error {
	if _, ok := c.statements[m.Name]; ok && m.Name != "" {
		return fail(codeTwice, fmt.Sprintf("prepared statement %q already exists", m.Name))
	}
	ctx, done := c.limited(ctx)
	defer done()
	types := append([]uint32(nil), m.ParameterOIDs...)
	r := c.start(m.Query)
	var s *statement
	err := readable([]byte(m.Query + m.Name))
	if err == nil {
		s, err = c.prepare(ctx, m.Query, types)
	}
	if err != nil {
		err = because(ctx, err)
		r.end(err)
		return err
	}
	r.planned()
	if old := c.statements[m.Name]; old != nil {
		old.close()
	}
	c.statements[m.Name] = s
	c.send(&pgproto3.ParseComplete{})
	return nil
}

func (c *client) bind(ctx context.Context, m *pgproto3.Bind) error {
	s := c.statements[m.PreparedStatement]
	if s == nil {
		return fail(codeNoStatement, fmt.Sprintf("prepared statement %q does not exist", m.PreparedStatement))
	}
	err := c.bindTo(ctx, s, m)
	if err != nil {
		c.start(s.text).end(err)
	}
	return err
}

// bindTo creates a portal for a statement.
func (c *client) bindTo(ctx context.Context, s *statement, m *pgproto3.Bind) error {
	if _, ok := c.portals[m.DestinationPortal]; ok && m.DestinationPortal != "" {
		return fail("42P03", fmt.Sprintf("cursor %q already exists", m.DestinationPortal))
	}
	types := s.params()
	if len(m.Parameters) != len(types) {
		return fail(codeProtocol, fmt.Sprintf("bind message supplies %d parameters, but prepared statement %q requires %d",
			len(m.Parameters), m.PreparedStatement, len(types)))
	}
	p := &portal{statement: s, formats: append([]int16(nil), m.ResultFormatCodes...)}
	if n := len(m.ParameterFormatCodes); n > 1 && n != len(types) {
		return fail(codeProtocol, fmt.Sprintf("bind message has %d parameter formats but %d parameters", n, len(types)))
	}
	if n := len(p.formats); n > 1 && n != len(s.columns()) {
		return fail(codeProtocol, fmt.Sprintf("bind message has %d result formats but query has %d columns", n, len(s.columns())))
	}
	for i, raw := range m.Parameters {
		isBinary := false
		switch n := len(m.ParameterFormatCodes); {
		case n == 1:
			isBinary = m.ParameterFormatCodes[0] == pgproto3.BinaryFormat
		case n > 1:
			isBinary = m.ParameterFormatCodes[i] == pgproto3.BinaryFormat
		}
		if !isBinary || types[i].OID == TextType.OID {
			if err := readable(raw); err != nil {
				return err
			}
		}
		v, err := types[i].Param(raw, isBinary)
		if err != nil {
			return &Error{Code: codeBadValue, Message: err.Error()}
		}
		p.args = append(p.args, v)
	}
	if old := c.portals[m.DestinationPortal]; old != nil {
		old.drop()
	}
	if s.query != nil { // outside a transaction, a portal lasts until Sync
		if err := c.begin(ctx); err != nil {
			return err
		}
	}
	c.portals[m.DestinationPortal] = p
	c.send(&pgproto3.BindComplete{})
	return nil
}

func (c *client) describe(m *pgproto3.Describe) error {
	if m.ObjectType == 'P' {
		p := c.portals[m.Name]
		if p == nil {
			return fail(codeNoCursor, fmt.Sprintf("portal %q does not exist", m.Name))
		}
		c.sendColumns(p.columns(), p.format)
		return nil
	}
	s := c.statements[m.Name]
	if s == nil {
		return fail(codeNoStatement, fmt.Sprintf("prepared statement %q does not exist", m.Name))
	}
	d := &pgproto3.ParameterDescription{}
	for _, t := range s.params() {
		d.ParameterOIDs = append(d.ParameterOIDs, t.OID)
	}
	c.send(d)
	c.sendColumns(s.columns(), func(int) int16 { return pgproto3.TextFormat })
	return nil
}

func (c *client) sendColumns(columns []Column, format func(int) int16) {
	if len(columns) == 0 {
		c.send(&pgproto3.NoData{})
		return
	}
	d := &pgproto3.RowDescription{}
	for i, column := range columns {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{Name: []byte(column.Name), DataTypeOID: column.Type.OID,
			DataTypeSize: column.Type.Size, TypeModifier: column.Type.Mod, Format: format(i)})
	}
	c.send(d)
}

func (c *client) forget(m *pgproto3.Close) {
	if m.ObjectType == 'P' {
		if p := c.portals[m.Name]; p != nil {
			p.drop()
			delete(c.portals, m.Name)
		}
	} else if s := c.statements[m.Name]; s != nil {
		s.close()
		delete(c.statements, m.Name)
	}
	c.send(&pgproto3.CloseComplete{})
}
