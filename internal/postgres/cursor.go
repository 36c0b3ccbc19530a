package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

func (c *client) declareCommand(w *words) (*command, error) {
	name, ok := w.name()
	if !ok {
		return nil, w.wrong()
	}
	for !w.take("cursor") {
		if !w.takeAny("insensitive", "asensitive", "no", "scroll") {
			return nil, w.wrong()
		}
	}
	holds := w.take("with", "hold")
	w.take("without", "hold")
	if !w.take("for") || w.end() {
		return nil, w.wrong()
	}
	query := w.From(w.at)
	d := &command{}
	if slices.ContainsFunc(w.Tokens[w.at:], func(t Token) bool { return t.Kind == Param }) {
		d.query = query
	}
	d.run = func(ctx context.Context, declared *portal) (string, error) {
		if c.state == 'I' && !holds {
			return "", fail(codeNoTransaction, "DECLARE CURSOR can only be used in transaction blocks")
		}
		if c.portals[name] != nil {
			return "", fail("42P03", fmt.Sprintf("cursor %q already exists", name))
		}
		// The cursor has its own statement, because the declaring one may be run again.
		s, err := c.prepare(ctx, query, declared.types)
		if err != nil {
			return "", err
		}
		if s.query == nil || len(s.params()) != len(declared.args) {
			s.close()
			return "", fail(codeSyntax, "a cursor supports one query")
		}
		c.portals[name] = &portal{statement: s, args: declared.args, owns: true, holds: holds}
		return "DECLARE CURSOR", nil
	}
	return d, nil
}

func (c *client) fetchCommand(w *words) (*command, error) {
	limit := int64(1)
	switch {
	case w.takeAny("next"):
	case w.takeAny("all"), w.take("forward", "all"):
		limit = 0
	case w.takeAny("prior", "first", "last", "absolute", "relative", "backward", "-"):
		return nil, fail("55000", "cursor can only scan forward")
	default:
		w.take("forward")
		if !w.end() && w.Tokens[w.at].Kind == Number {
			n, err := strconv.ParseInt(w.Tokens[w.at].Text, 10, 64)
			if err != nil || n == 0 { // which would repeat the current row
				return nil, fail("55000", "cursor can only scan forward")
			}
			limit = n
			w.at++
		}
	}
	w.takeAny("from", "in")
	name, ok := w.name()
	if !ok {
		return nil, w.wrong()
	}
	cursor := c.portals[name]
	if cursor == nil {
		return nil, fail(codeNoCursor, fmt.Sprintf("cursor %q does not exist", name))
	}
	f := &command{columns: cursor.columns()}
	f.run = func(ctx context.Context, p *portal) (string, error) {
		before := cursor.sent
		cursor.run = p.run
		p.run.about(cursor.text)
		if len(cursor.formats) == 0 {
			cursor.formats = p.formats
		}
		err := c.sendRows(ctx, cursor, limit)
		return fmt.Sprintf("FETCH %d", cursor.sent-before), err
	}
	return f, nil
}

func (c *client) closeCommand(w *words) (*command, error) {
	if w.take("all") {
		return plain("CLOSE CURSOR ALL", func(context.Context) error {
			for name, p := range c.portals {
				if name != "" {
					p.drop()
					delete(c.portals, name)
				}
			}
			return nil
		}), nil
	}
	name, ok := w.name()
	if !ok {
		return nil, w.wrong()
	}
	return plain("CLOSE CURSOR", func(context.Context) error {
		p := c.portals[name]
		if p == nil {
			return fail(codeNoCursor, fmt.Sprintf("cursor %q does not exist", name))
		}
		p.drop()
		delete(c.portals, name)
		return nil
	}), nil
}
