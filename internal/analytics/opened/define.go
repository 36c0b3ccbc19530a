package opened

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// definition is the name of a type, macro, stored table or view, and the statement that creates it.
type definition struct{ name, sql string }

var definitionRE = regexp.MustCompile(`(?m)^CREATE (?:MACRO|TYPE) (\w+)`)

// macros are the types and macros, in order of dependency; pastMacros are those over the views.
var (
	macros     = sync.OnceValue(func() []definition { return split(sqlfiles.Macros()) })
	pastMacros = sync.OnceValue(func() []definition { return split(sqlfiles.PastMacros()) })
)

// split returns the definitions of a text.
func split(all string) (out []definition) {
	at := definitionRE.FindAllStringSubmatchIndex(all, -1)
	for i, m := range at {
		end := len(all)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		text := all[m[0]:end]
		out = append(out, definition{all[m[2]:m[3]], text[:strings.LastIndexByte(text, ';')+1]}) // without the next one's comment
	}
	return out
}

// withMacros returns the types and macros, with some definitions replaced.
func withMacros(others map[string]string) []definition {
	out := slices.Clone(macros())
	for i := range out {
		if text, ok := others[out[i].name]; ok {
			out[i].sql = text + ";"
		}
	}
	return out
}

// definitions returns everything that statements may name, in order of dependency.
func (db *DB) definitions(localTime string) []definition {
	out := withMacros(map[string]string{"local_time": localTime})
	for _, t := range resource.Tables {
		name := "stored." + t.Name
		out = append(out, definition{name, "CREATE VIEW " + name + " AS " + db.relation(db.snap.Manifest.NewestFirst(t.Name), t)})
	}
	for _, v := range sqlfiles.Views() {
		out = append(out, definition{v.Name, "CREATE VIEW " + v.Name + " AS " + v.SQL})
	}
	return append(out, pastMacros()...)
}

var (
	fromStoredRE = regexp.MustCompile(`\bFROM stored\.(\w+)`)
	fromCallsRE  = regexp.MustCompile(`\bFROM calls\b`)
)

// OldestFirst returns a SELECT of the rows of a view, oldest period first: see [layout.Manifest.NewestFirst].
func (db *DB) OldestFirst(view string) string {
	v, _ := sqlfiles.View(view)
	text := fromCallsRE.ReplaceAllStringFunc(v.SQL, func(string) string { return "FROM (" + db.OldestFirst(schema.Calls.Name) + ") AS calls" })
	return fromStoredRE.ReplaceAllStringFunc(text, func(from string) string {
		t := resource.Stored(strings.TrimPrefix(from, "FROM "))
		return "FROM (" + db.relation(db.snap.Manifest.FilesOf(t.Name), t) + ")"
	})
}

// relation returns a SELECT of the rows of some of a table's files.
func (db *DB) relation(files []*layout.File, t *schema.Table) string {
	return db.rights.Relation(db.snap, files, t, db.safe)
}

// texts is the SQL of macros and views by name.
type texts map[string]string

var usual = sync.OnceValue(func() texts {
	out := texts{}
	for _, d := range slices.Concat(macros(), pastMacros()) {
		out[d.name] = d.sql
	}
	for _, v := range sqlfiles.Views() {
		out[v.Name] = v.SQL
	}
	return out
})

var nameRE = regexp.MustCompile(`(?i)(\b(?:from|join)[\s(]+)?([a-z_][a-z0-9_.]*)`)

// namesIn returns the names of the definitions that our own texts use, and of their dependencies. A
// view counts only after FROM or JOIN, since calls is also a column.
func (made texts) namesIn(texts ...string) map[string]bool {
	out := map[string]bool{}
	var add func(text string)
	add = func(text string) {
		for _, m := range nameRE.FindAllStringSubmatch(text, -1) {
			name := m[2]
			if _, isView := sqlfiles.View(name); isView && m[1] == "" || out[name] {
				continue
			}
			out[name] = true
			add(made[name])
		}
	}
	for _, text := range texts {
		add(text)
	}
	return out
}

// define creates the wanted definitions in DuckDB that do not exist yet.
func (db *DB) define(ctx context.Context, conn *duck.Conn, wanted func(name string) bool) error {
	db.defining.Lock()
	defer db.defining.Unlock()
	var left []definition
	for i, d := range db.undefined {
		if !wanted(d.name) {
			left = append(left, d)
			continue
		}
		if err := db.making(ctx, conn, d.name, d.sql); err != nil {
			db.undefined = append(left, db.undefined[i:]...)
			return err
		}
	}
	db.undefined = left
	return nil
}

// making runs the statements of a definition, whose dependencies exist. It finishes even if ctx is
// cancelled, since it takes only milliseconds.
func (db *DB) making(ctx context.Context, conn *duck.Conn, name string, texts ...string) error {
	bare := *conn
	bare.Before = nil
	for _, text := range texts {
		if err := bare.Exec(context.WithoutCancel(ctx), text); err != nil {
			return fmt.Errorf("define %s of the snapshot %s: %w", name, db.snap.Dir, err)
		}
	}
	return nil
}

// DefineAll makes all definitions.
func (db *DB) DefineAll(ctx context.Context, conn *duck.Conn) error {
	return db.define(ctx, conn, func(string) bool { return true })
}

var wordRE = regexp.MustCompile(`[a-z_][a-z0-9_]*`)

// wordsOf returns all words of a statement, and those of the views and macros that they may name.
func (made texts) wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	var add func(text string)
	add = func(text string) {
		for _, word := range wordRE.FindAllString(strings.ToLower(text), -1) {
			if !words[word] {
				words[word] = true
				add(made[word])
			}
		}
	}
	add(text)
	return words
}

// looksAround matches statements that list DuckDB's views and macros, or that run text as SQL.
var looksAround = regexp.MustCompile(`(?i)\b(describe|information_schema|query|query_table|show|summarize|` +
	`(duckdb|pg|pragma|sql|sqlite|json_(de)?serialize|json_execute)_\w+)\b`)

// Defined runs plan, which plans an untrusted text, after defining everything that the text's words
// may name. If the text lists definitions, or if plan fails, everything is defined first, so that
// no answer and no error reveals a difference.
func (db *DB) Defined(ctx context.Context, conn *duck.Conn, text string, plan func() error) error {
	words := db.made.wordsOf(text)
	if _, err := db.nameAgents(ctx, conn, text, words); err != nil {
		return err
	}
	if !looksAround.MatchString(text) {
		if err := db.define(ctx, conn, func(name string) bool { return words[strings.TrimPrefix(name, "stored.")] }); err != nil {
			return err
		}
		if err := plan(); err == nil {
			return nil
		}
	}
	if err := db.DefineAll(ctx, conn); err != nil {
		return err
	}
	return plan()
}

// agentNames is the SELECT that makes the map of all agents' names.
const agentNames = "SELECT map(list(agent_id), list(name)) FROM stored.agents WHERE name IS NOT NULL"

// NameAgents sets the agents' names on a connection, as its reader sees them, if a text may read
// them. Reports do not need it: they return ids, and their names are added separately.
func (db *DB) NameAgents(ctx context.Context, conn *duck.Conn, text string) error {
	_, err := db.nameAgents(ctx, conn, text, usual().wordsOf(text))
	return err
}

// nameAgents is NameAgents for a text with these words. It reports whether it set the names.
func (db *DB) nameAgents(ctx context.Context, conn *duck.Conn, text string, words map[string]bool) (named bool, err error) {
	if !words["agent_names"] && !looksAround.MatchString(text) {
		return false, nil
	}
	if err := conn.Exec(ctx, "SET VARIABLE agent_names = ("+agentNames+")"); err != nil {
		return false, fmt.Errorf("read the names of agents: %w", err)
	}
	return true, nil
}

// ViewMacros returns the definitions that the views of a snapshot need in other programs.
// local_time is replaced, and every statement reads the agents' names, because no variable holds
// them. Definitions of reports are left out: they need variables, and so clients of DuckDB 1.1 or
// later.
func ViewMacros(localTime string) string {
	var views []string
	for _, v := range sqlfiles.Views() {
		views = append(views, v.SQL)
	}
	needed, out := usual().namesIn(views...), ""
	anew := map[string]string{"local_time": localTime, "agent_names": "CREATE MACRO agent_names() AS (" + agentNames + ")"}
	for _, d := range withMacros(anew) {
		if needed[d.name] {
			out += d.sql + "\n"
		}
	}
	return out
}

// check returns the rules for checking statements. A reader with rights may name only visible
// tables.
func (db *DB) check() guard.Check {
	check := guard.Check{Safe: db.safe, NoPlans: db.rights.Agents != nil}
	if !db.rights.None() {
		check.May = db.rights.May
	}
	return check
}

// Reads returns nil for a statement that may run. The check for safe statements needs all
// definitions, so they are made if it fails.
func (db *DB) Reads(ctx context.Context, conn *duck.Conn, text string) error {
	_, err := db.check().Text(ctx, conn, text)
	if err == nil || !db.safe {
		return err
	}
	if err := db.DefineAll(ctx, conn); err != nil {
		return err
	}
	_, err = db.check().Text(ctx, conn, text)
	return err
}
