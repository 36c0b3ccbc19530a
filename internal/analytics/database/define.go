package database

import (
	"context"
	"fmt"
	"regexp"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// agentNames is the SELECT that makes the map of all agents' names.
const agentNames = "SELECT map(list(agent_id), list(name)) FROM stored.agents WHERE name IS NOT NULL"

// macros returns the statements that create the types and macros of views and reports, given the one
// that creates local_time, and the agents' names: a variable or, where no program sets one, agentNames.
func macros(localTime, names string) string {
	return localTime + ";\nCREATE MACRO agent_names() AS " + names + ";\n" + sqlfiles.Macros()
}

// define creates stored tables and views, named as in stored.calls and calls, unless they exist. It
// reads no file and takes milliseconds, so a cancelled ctx does not end it half-done.
func (db *DB) define(ctx context.Context, conn *duck.Conn, names []string) error {
	for _, name := range names {
		if db.defined[name] {
			continue
		}
		var text string
		if v, ok := sqlfiles.View(name); ok {
			if err := db.define(ctx, conn, v.Reads); err != nil {
				return err
			}
			text = v.SQL
		} else {
			t := resource.Stored(name)
			if err := db.snap.Present(t.Name); err != nil {
				return err
			}
			text = db.relation(t)
		}
		if err := conn.Exec(context.WithoutCancel(ctx), "CREATE VIEW "+name+" AS "+text); err != nil {
			return fmt.Errorf("define %s of the snapshot %s: %w", name, db.snap.Dir, err)
		}
		db.defined[name] = true
	}
	return nil
}

// AnyStatement stands for an unknown statement: mayUsePastRE matches it. In defined it means the macros over views.
const AnyStatement = "macros over views"

// mayUsePastRE matches the statements that may call or list the macros over views, which take two fifths of the time.
var mayUsePastRE = regexp.MustCompile(`(?i)_at(\W*\(|"?\s*(/\*|--))|function|macro|routine|proc|pragma`)

// DefineFor makes all definitions that a user's statement may use.
func (db *DB) DefineFor(ctx context.Context, conn *duck.Conn, statement string) error {
	db.defining.Lock()
	defer db.defining.Unlock()
	var names []string
	for _, t := range resource.Tables {
		names = append(names, "stored."+t.Name)
	}
	for _, v := range sqlfiles.Views() {
		names = append(names, v.Name)
	}
	if err := db.define(ctx, conn, names); err != nil || db.defined[AnyStatement] || !mayUsePastRE.MatchString(statement) {
		return err
	}
	db.defined[AnyStatement] = true
	return conn.Exec(context.WithoutCancel(ctx), sqlfiles.PastMacros())
}

// relation returns a SELECT of a table's rows.
func (db *DB) relation(t *schema.Table) string {
	files := db.snap.Manifest.NewestFirst(t.Name)
	if db.oldestFirst {
		files = db.snap.Manifest.FilesOf(t.Name)
	}
	return db.rights.Relation(db.snap, files, t, db.safe)
}

// SQLConn returns a connection for a user's statement, with the names of agents as its reader sees them.
func (db *DB) SQLConn(ctx context.Context, statement string) (*duck.Conn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err = db.DefineFor(ctx, conn, statement); err == nil {
		err = conn.Exec(ctx, "SET VARIABLE agent_names = ("+agentNames+")")
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// check returns the rules for checking statements. A reader with rights may name only visible tables.
func (db *DB) check() guard.Check {
	check := guard.Check{Safe: db.safe, NoPlans: db.rights.Agents != nil}
	if !db.rights.None() {
		check.May = db.rights.May
	}
	return check
}

// Reads returns nil for a statement that may run, on a connection with all definitions.
func (db *DB) Reads(ctx context.Context, conn *duck.Conn, text string) error {
	_, err := db.check().Text(ctx, conn, text)
	return err
}
