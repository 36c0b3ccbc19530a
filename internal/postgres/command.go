package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/analytics/value"
)

// command is a statement about the session. run returns its tag.
type command struct {
	columns []Column
	query   string // query with the command's parameters; empty: none
	run     func(ctx context.Context, p *portal) (tag string, err error)
}

// changing are the first words of statements that change something.
var changing = []string{"insert", "update", "delete", "merge", "create", "alter", "drop", "truncate", "grant", "revoke",
	"comment", "notify", "vacuum", "analyze", "refresh", "reindex",
	"cluster", "import", "export", "attach", "detach", "install", "load", "pragma", "call", "do", "lock", "checkpoint", "use",
	"security", "reassign", "force", "update", "execute", "prepare"}

// words are the tokens of a statement for parsing commands.
type words struct {
	Statement
	at int
}

// take advances past the words if they come next.
func (w *words) take(expected ...string) bool {
	for i, e := range expected {
		if w.at+i >= len(w.Tokens) || w.Tokens[w.at+i].Kind != Quoted && !strings.EqualFold(w.Tokens[w.at+i].Text, e) ||
			w.Tokens[w.at+i].Kind == Quoted {
			return false
		}
	}
	w.at += len(expected)
	return true
}

// takeAny is take for one of several words.
func (w *words) takeAny(expected ...string) bool {
	return slices.ContainsFunc(expected, func(e string) bool { return w.take(e) })
}

func (w *words) end() bool { return w.at >= len(w.Tokens) }

// name takes a name.
func (w *words) name() (string, bool) {
	if w.end() || w.Tokens[w.at].Kind != Word && w.Tokens[w.at].Kind != Quoted {
		return "", false
	}
	w.at++
	return w.Tokens[w.at-1].Name(), true
}

// dotted takes the name of a setting, which may have several parts.
func (w *words) dotted() (string, bool) {
	name, ok := w.name()
	for ok && w.take(".") {
		part, _ := w.name()
		name += "." + part
	}
	return name, ok
}

func (w *words) wrong() error {
	if w.end() {
		return fail(codeSyntax, "syntax error at end of input")
	}
	return fail(codeSyntax, fmt.Sprintf("syntax error at or near %q", w.Tokens[w.at].Text))
}

// commandOf returns the command of a statement, or nil if it is a query.
func (c *client) commandOf(text Statement) (*command, error) {
	if text.Queries() {
		return nil, nil
	}
	w := &words{Statement: text}
	switch {
	case w.take("begin"):
		return c.beginCommand("BEGIN"), nil
	case w.take("start", "transaction"):
		return c.beginCommand("START TRANSACTION"), nil
	case w.takeAny("commit", "end"):
		return c.endCommand(w, "COMMIT")
	case w.takeAny("abort", "rollback"):
		w.takeAny("work", "transaction")
		if !w.take("to") {
			return c.endCommand(w, "ROLLBACK")
		}
		return c.savepointCommand(w, "ROLLBACK TO SAVEPOINT")
	case w.take("savepoint"):
		return c.savepointCommand(w, "SAVEPOINT")
	case w.take("release"):
		return c.savepointCommand(w, "RELEASE SAVEPOINT")
	case w.take("set"):
		return c.setCommand(w)
	case w.take("reset"):
		return c.resetCommand(w)
	case w.take("show"):
		return c.showCommand(w)
	case w.take("discard"):
		return c.discardCommand(w)
	case w.take("deallocate"):
		return c.deallocateCommand(w)
	case w.take("declare"):
		return c.declareCommand(w)
	case w.take("fetch"):
		return c.fetchCommand(w)
	case w.take("close"):
		return c.closeCommand(w)
	case w.take("copy"):
		return c.copyCommand(w)
	case w.take("listen"):
		return plain("LISTEN", nil), nil
	case w.take("unlisten"):
		return plain("UNLISTEN", nil), nil
	}
	if slices.ContainsFunc(changing, func(word string) bool { return text.Tokens[0].Is(word) }) {
		hint := "the warehouse is read-only; only extract changes it"
		if w.take("create") && w.takeAny("temp", "temporary") {
			hint = "there are no temporary tables: write WITH name AS (SELECT ...) before the query"
		}
		return nil, &Error{Code: codeReadOnly, Message: fmt.Sprintf("cannot execute %s in a read-only transaction",
			strings.ToUpper(text.Tokens[0].Text)), Hint: hint}
	}
	return nil, nil // DuckDB reports the error
}

// plain is a command without rows.
func plain(tag string, do func(ctx context.Context) error) *command {
	return &command{run: func(ctx context.Context, _ *portal) (string, error) {
		if do == nil {
			return tag, nil
		}
		return tag, do(ctx)
	}}
}

func (c *client) beginCommand(tag string) *command {
	return plain(tag, func(ctx context.Context) error {
		if c.state != 'I' {
			return nil // already in one
		}
		if err := c.begin(ctx); err != nil {
			return err
		}
		c.state = 'T'
		return nil
	})
}

func (c *client) endCommand(w *words, tag string) (*command, error) {
	if w.takeAny("work", "transaction"); !w.end() {
		return nil, w.wrong()
	}
	return &command{run: func(context.Context, *portal) (string, error) {
		said := tag
		if c.state == 'E' {
			said = "ROLLBACK"
		}
		c.state = 'I'
		c.over(said == "COMMIT")
		return said, nil
	}}, nil
}

// savepointCommand is a command about a savepoint, which concerns only the settings: there are no other
// changes.
func (c *client) savepointCommand(w *words, what string) (*command, error) {
	if what != "SAVEPOINT" {
		w.take("savepoint")
	}
	name, ok := w.name()
	if !ok || !w.end() {
		return nil, w.wrong()
	}
	tag, _, _ := strings.Cut(what, " ")
	return plain(tag, func(context.Context) error {
		if c.state == 'I' {
			return fail(codeNoTransaction, what+" can only be used in transaction blocks")
		}
		if what == "SAVEPOINT" {
			c.savepoints = append(c.savepoints, savepoint{name, c.values})
			return nil
		}
		at := len(c.savepoints) - 1
		for at >= 0 && c.savepoints[at].name != name {
			at--
		}
		if at < 0 {
			return fail("3B001", fmt.Sprintf("savepoint %q does not exist", name))
		}
		if tag == "RELEASE" {
			c.savepoints = c.savepoints[:at]
			return nil
		}
		c.state, c.savepoints = 'T', c.savepoints[:at+1]
		c.undo()
		return nil
	}), nil
}

// discardCommand is DISCARD, which connection pools send. There are no plans, temporary tables or
// sequences to discard.
func (c *client) discardCommand(w *words) (*command, error) {
	for _, what := range []string{"PLANS", "SEQUENCES", "TEMP", "TEMPORARY"} {
		if w.take(what) && w.end() {
			return plain("DISCARD "+strings.TrimSuffix(what, "ORARY"), nil), nil
		}
	}
	if !w.take("all") || !w.end() {
		return nil, w.wrong()
	}
	return plain("DISCARD ALL", func(ctx context.Context) error {
		if c.state != 'I' || c.several {
			return fail("25001", "DISCARD ALL cannot run inside a transaction block")
		}
		c.forgetAll()
		return c.reset(ctx)
	}), nil
}

func (c *client) setCommand(w *words) (*command, error) {
	isLocal := w.take("local")
	if !isLocal {
		w.take("session")
	}
	name, value := "", (*string)(nil)
	switch {
	case w.take("transaction", "snapshot"):
		return nil, fail(codeUnsupported, "SET TRANSACTION SNAPSHOT is not supported")
	case w.take("characteristics", "as", "transaction"), w.take("transaction"):
		return plain("SET", nil), nil // all transactions are read-only and see one commit
	case w.take("time", "zone"):
		name = "timezone"
	case w.take("names"):
		name = "client_encoding"
	case w.take("authorization"), w.take("role"): // both may only be the user's own
		name = "role"
	default:
		var ok bool
		if name, ok = w.dotted(); !ok {
			return nil, w.wrong()
		}
		if !w.take("=") && !w.take("to") {
			return nil, w.wrong()
		}
	}
	if !w.take("default") && !(name == "timezone" && w.take("local")) {
		v, err := w.value()
		if err != nil {
			return nil, err
		}
		value = &v
	}
	return plain("SET", func(ctx context.Context) error {
		return c.set(ctx, name, value, isLocal)
	}), nil
}

// value takes the rest of a SET: names, texts and numbers separated by commas.
func (w *words) value() (string, error) {
	if w.take("interval") { // of a time zone
		return w.interval()
	}
	var b strings.Builder
	for expects := true; !w.end() || expects; w.at++ {
		if w.end() {
			return "", w.wrong()
		}
		t := w.Tokens[w.at]
		isSign := t.Text == "-" || t.Text == "+"
		if expects == (t.Text == ",") {
			return "", w.wrong()
		}
		switch expects = isSign || t.Text == ","; {
		case t.Text == ",":
			b.WriteString(", ")
		case t.Kind == Quoted, t.Kind == Word:
			b.WriteString(t.Text)
		default:
			b.WriteString(t.Value())
		}
	}
	return strings.Trim(b.String(), `"`), nil
}

// interval takes the offset of a time zone, such as '+05:30' HOUR TO MINUTE, and returns its hours.
func (w *words) interval() (string, error) {
	if w.end() {
		return "", w.wrong()
	}
	clock, behind := strings.CutPrefix(w.Tokens[w.at].Value(), "-")
	w.at++
	if w.take("hour", "to", "minute"); !w.end() {
		return "", w.wrong()
	}
	hours, minutes, _ := strings.Cut(strings.TrimPrefix(clock, "+"), ":")
	h, err := strconv.ParseFloat(hours, 64)
	m, _ := strconv.ParseFloat(minutes, 64)
	if h += m / 60; behind {
		h = -h
	}
	if err != nil {
		return clock, nil // an invalid zone, which is refused later
	}
	return strconv.FormatFloat(h, 'f', -1, 64), nil
}

func (c *client) resetCommand(w *words) (*command, error) {
	if w.take("all") {
		return plain("RESET", c.reset), nil
	}
	name := "timezone"
	switch {
	case w.take("time", "zone"):
	case w.take("session", "authorization"):
		name = "role"
	default:
		var ok bool
		if name, ok = w.dotted(); !ok {
			return nil, w.wrong()
		}
	}
	if !w.end() {
		return nil, w.wrong()
	}
	return plain("RESET", func(ctx context.Context) error { return c.set(ctx, name, nil, false) }), nil
}

// reset restores all settings to their values at the start.
func (c *client) reset(ctx context.Context) error {
	for name, v := range c.values.now {
		if v == c.restore[name] {
			continue
		}
		if err := c.set(ctx, name, nil, false); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) showCommand(w *words) (*command, error) {
	var name string
	switch {
	case w.take("transaction", "isolation", "level"):
		name = "transaction_isolation"
	case w.take("time", "zone"):
		name = "timezone"
	case w.take("session", "authorization"):
		name = "session_authorization"
	default:
		var ok bool
		if name, ok = w.dotted(); !ok {
			return nil, w.wrong()
		}
	}
	if name == "tables" {
		return nil, nil // a setting of DuckDB
	}
	if !w.end() {
		return nil, w.wrong()
	}
	if _, ok := c.Setting(name); !ok {
		return nil, unknownSetting(name)
	}
	column := Column{Name: cmp.Or(parameters()[name].name, name), Type: TextType}
	return &command{columns: []Column{column}, run: func(ctx context.Context, p *portal) (string, error) {
		if err := c.out.row(p.columns(), []value.Value{value.Of(c.setting(name))}, p, c.zone); err != nil {
			return "", err
		}
		return "SHOW", c.sendBatch(ctx, 1)
	}}, nil
}

func (c *client) forgetAll() {
	c.closePortals()
	for name, s := range c.statements {
		s.close()
		delete(c.statements, name)
	}
}

func (c *client) deallocateCommand(w *words) (*command, error) {
	w.take("prepare")
	if w.take("all") {
		return plain("DEALLOCATE ALL", func(context.Context) error {
			for name, s := range c.statements {
				if name != "" { // only the running one
					s.close()
					delete(c.statements, name)
				}
			}
			return nil
		}), nil
	}
	name, ok := w.name()
	if !ok {
		return nil, w.wrong()
	}
	return plain("DEALLOCATE", func(context.Context) error {
		s := c.statements[name]
		if s == nil {
			return fail(codeNoStatement, fmt.Sprintf("prepared statement %q does not exist", name))
		}
		s.close()
		delete(c.statements, name)
		return nil
	}), nil
}
