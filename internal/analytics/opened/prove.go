package opened

import (
	"context"
	"slices"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Conn returns a connection that, before a statement runs, compares the files that it may read with
// their checksums in the manifest, and defines the names that it uses. DuckDB verifies only
// the checksums of pages: without this, a changed byte of a footer or of a page's header may become
// a wrong number.
func (db *DB) Conn(ctx context.Context) (*duck.Conn, error) {
	conn, err := db.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn.Before = func(ctx context.Context, text string) error {
		if err := db.prove(ctx, text); err != nil {
			return err
		}
		names := db.made.namesIn(text)
		return db.define(ctx, conn, func(name string) bool { return names[name] })
	}
	return conn, nil
}

// prove compares the files that a statement may read with their checksums, once per table. A file
// that differs is a *layout.DamageError.
func (db *DB) prove(ctx context.Context, text string) error {
	tables := db.made.tablesOf(text)
	if db.rights.Agents != nil && len(tables) > 0 {
		tables = append(tables, &schema.Calls) // which assign the rows to agents
	}
	db.proving.Lock()
	defer db.proving.Unlock()
	for _, t := range tables {
		if db.proven[t] {
			continue
		}
		if err := db.snap.Prove(ctx, db.snap.Manifest.FilesOf(t.Name)); err != nil {
			return err
		}
		db.proven[t] = true
	}
	return nil
}

// dynamic are functions through which a statement may read tables that it does not name.
var dynamic = []string{"query", "query_table"}

// tablesOf returns the stored tables that a statement may read: those whose names are words of the
// statement, or of a view or macro that it names. It may return too many.
func (made texts) tablesOf(text string) []*schema.Table {
	words := made.wordsOf(text)
	for _, name := range dynamic {
		if words[name] {
			return slices.Clone(resource.Tables)
		}
	}
	var out []*schema.Table
	for _, t := range resource.Tables {
		if words[t.Name] {
			out = append(out, t)
		}
	}
	return out
}
