package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/analytics/value"
	"callhouse/internal/postgres/lexer"
)

// command is a statement about the session. run returns its tag.
type command struct {
	columns []Column
	query   string // query with the command's parameters; empty: none
	run     func(ctx context.Context, p *portal) (tag string, err error)
}

// changing are the first words of statements that change something.
var changing = []string{"insert", "update", "delete", "merge", "create", "alter", "drop", "truncate", "grant", "revoke",
	"comment", "vacuum", "analyze", "refresh", "reindex",
	"cluster", "import", "export", "attach", "detach", "install", "load", "pragma", "call", "do", "lock", "checkpoint", "use",
	"security", "reassign", "force", "update", "execute", "prepare"}

// words are the tokens of a statement for parsing commands.
type words struct {
	lexer.Statement
	at int
}

// take advances past the words if they come next.
func (w *words) take(expected ...string) bool {
	for i, e := range expected {
		if w.at+i >= len(w.Tokens) || w.Tokens[w.at+i].Kind != lexer.Quoted && !strings.EqualFold(w.Tokens[w.at+i].Text, e) ||
			w.Tokens[w.at+i].Kind == lexer.Quoted {
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
	if w.end() || w.Tokens[w.at].Kind != lexer.Word && w.Tokens[w.at].Kind != lexer.Quoted {
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
func (c *client) commandOf(text lexer.Statement) (*command, error) {
	if text.Queries() {
		return nil, nil
	}
	w := &words{Statement: text}
	switch {
	case w.takeAny("begin") || w.take("start", "transaction"):
		return c.beginCommand(), nil
	case w.takeAny("commit", "end"):
		return c.endCommand("COMMIT"), nil
	case w.takeAny("abort"), w.take("rollback") && !w.toSavepoint():
		return c.endCommand("ROLLBACK"), nil
	case w.take("rollback"):
		return c.inTransaction("ROLLBACK", func() { c.state = 'T' }), nil
	case w.take("savepoint"):
		return c.inTransaction("SAVEPOINT", nil), nil
	case w.take("release"):
		return c.inTransaction("RELEASE", nil), nil
	case w.take("set"):
		return c.setCommand(w)
	case w.take("reset"):
		return c.resetCommand(w)
	case w.take("show"):
		return c.showCommand(w)
	case w.take("discard"):
		return plain("DISCARD ALL", func(ctx context.Context) error {
			c.forgetAll()
			return c.reset(ctx)
		}), nil
	case w.take("deallocate"):
		return c.deallocateCommand(w)
	case w.take("declare"):
		return c.declareCommand(w)
	case w.take("fetch"):
		return c.fetchCommand(w, true)
	case w.take("move"):
		return c.fetchCommand(w, false)
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
		return nil, &Error{Code: codeReadOnly, Message: fmt.Sprintf("cannot execute %s in a read-only transaction",
			strings.ToUpper(text.Tokens[0].Text)), Hint: "the warehouse is read-only; only extract changes it"}
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

func (c *client) beginCommand() *command {
	return plain("BEGIN", func(ctx context.Context) error {
		if c.state != 'I' {
			c.notice("25001", "there is already a transaction in progress")
			return nil
		}
		if err := c.begin(ctx); err != nil {
			return err
		}
		c.state = 'T'
		return nil
	})
}

func (c *client) endCommand(tag string) *command {
	return &command{run: func(context.Context, *portal) (string, error) {
		switch c.state {
		case 'I':
			c.notice(codeNoTransaction, "there is no transaction in progress")
		case 'E':
			tag = "ROLLBACK"
		}
		c.state = 'I'
		c.over(tag == "COMMIT")
		return tag, nil
	}}
}

// toSavepoint reports whether TO follows ROLLBACK, and then steps back before both.
func (w *words) toSavepoint() bool {
	at := w.at
	w.takeAny("work", "transaction")
	if w.take("to") {
		w.at = at - 1
		return true
	}
	return false
}

// inTransaction is a command allowed only within a transaction.
func (c *client) inTransaction(tag string, do func()) *command {
	return plain(tag, func(context.Context) error {
		if c.state == 'I' {
			return fail(codeNoTransaction, tag+" can only be used in transaction blocks")
		}
		if do != nil {
			do()
		}
		return nil
	})
}

func (c *client) notice(code, message string) {
	c.send((*pgproto3.NoticeResponse)((&Error{Code: code, Message: message}).response("WARNING")))
}

// report tells a client the current value of a setting.
func (c *client) report(name string) {
	if c.restore == nil { // sent at the end of the startup
		return
	}
	for _, r := range reported {
		if strings.EqualFold(r, name) {
			value, _ := c.Setting(name)
			c.send(&pgproto3.ParameterStatus{Name: r, Value: value})
		}
	}
}

func (c *client) setCommand(w *words) (*command, error) {
	isLocal := w.take("local")
	if !isLocal {
		w.take("session")
	}
	name, value := "", (*string)(nil)
	switch {
	case w.take("characteristics", "as", "transaction"), w.take("transaction"), w.take("constraints"):
		return plain("SET", nil), nil // all transactions are read-only and see one commit
	case w.take("time", "zone"):
		name = "timezone"
		if zone, ok := w.offset(); ok {
			return plain("SET", func(ctx context.Context) error { return c.set(ctx, name, &zone) }), nil
		}
	case w.take("names"):
		name = "client_encoding"
	case w.take("authorization"), w.take("role"):
		if w.takeAny("default", "none", c.User) {
			return plain("SET", nil), nil
		}
		if role, err := w.value(); err == nil && role == c.User { // in quotes
			return plain("SET", nil), nil
		}
		return nil, fail("42501", "permission denied to set role")
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
		if isLocal && c.state == 'I' {
			c.notice(codeNoTransaction, "SET LOCAL can only be used in transaction blocks")
			return nil
		}
		return c.set(ctx, name, value)
	}), nil
}

// offset takes a zone given by its offset: INTERVAL '+01:00' HOUR TO MINUTE, or hours. It returns
// the name of a zone without daylight saving.
func (w *words) offset() (zone string, ok bool) {
	at := w.at
	isInterval := w.take("interval")
	sign := ""
	if w.takeAny("-", "+") && w.Tokens[w.at-1].Text == "-" {
		sign = "-"
	}
	if w.end() || w.Tokens[w.at].Kind != lexer.Number && !(isInterval && w.Tokens[w.at].Kind == lexer.String) {
		w.at = at
		return "", false
	}
	text := sign + w.Tokens[w.at].Value()
	w.at++
	if w.take("hour", "to", "minute"); !w.end() {
		w.at = at
		return "", false
	}
	hours, minutes, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(strings.TrimPrefix(hours, "+"))
	switch {
	case err != nil || strings.Trim(minutes, "0:") != "":
		return text, true // an invalid zone, which is refused later
	case n == 0:
		return "UTC", true
	}
	return fmt.Sprintf("Etc/GMT%+d", -n), true // the signs of these zones are inverted
}

// value takes the rest of a SET: names, texts and numbers separated by commas.
func (w *words) value() (string, error) {
	if w.end() {
		return "", w.wrong()
	}
	var b strings.Builder
	for ; !w.end(); w.at++ {
		t := w.Tokens[w.at]
		switch {
		case t.Text == ",":
			b.WriteString(", ")
		case t.Kind == lexer.Quoted:
			b.WriteString(t.Text)
		case t.Kind == lexer.Word:
			b.WriteString(t.Text)
		default:
			b.WriteString(t.Value())
		}
	}
	return strings.Trim(b.String(), `"`), nil
}

func (c *client) resetCommand(w *words) (*command, error) {
	if w.take("all") {
		return plain("RESET", c.reset), nil
	}
	w.take("session")
	name, ok := w.name()
	if !ok {
		return nil, w.wrong()
	}
	if name == "time" && w.take("zone") {
		name = "timezone"
	}
	return plain("RESET", func(ctx context.Context) error {
		if name == "role" || name == "authorization" {
			return nil
		}
		return c.set(ctx, name, nil)
	}), nil
}

// reset restores all settings to their values at the start.
func (c *client) reset(ctx context.Context) error {
	for name := range c.settings {
		if c.settings[name] == c.restore[name] {
			continue
		}
		if err := c.set(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) showCommand(w *words) (*command, error) {
	text := func(name string) Column { return Column{Name: name, Type: TextType} }
	if w.take("all") {
		if !w.end() {
			return nil, w.wrong()
		}
		return &command{columns: []Column{text("name"), text("setting"), text("description")},
			run: func(ctx context.Context, p *portal) (string, error) {
				for _, name := range c.settingNames() {
					v, _ := c.Setting(name)
					if err := c.sendRow(p, name, v, ""); err != nil {
						return "", err
					}
				}
				return "SHOW", nil
			}}, nil
	}
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
		return nil, fail(codeUnknownSetting, fmt.Sprintf("unrecognized configuration parameter %q", name))
	}
	head := name
	if shown, ok := shownAs[name]; ok {
		head = shown
	}
	return &command{columns: []Column{text(head)}, run: func(ctx context.Context, p *portal) (string, error) {
		v, _ := c.Setting(name)
		return "SHOW", c.sendRow(p, v)
	}}, nil
}

// sendRow sends one row of texts.
func (c *client) sendRow(p *portal, values ...string) error {
	row := make([]value.Value, len(values))
	for i, v := range values {
		row[i] = value.Of(v)
	}
	if err := c.out.row(p.columns(), row, p, c.zone); err != nil {
		return err
	}
	return c.sendBatch(context.Background(), 1)
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
