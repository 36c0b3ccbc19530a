package opened

import (
	"context"
	"slices"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Prover compares files of a snapshot with their checksums before they are read.
type Prover interface {
	Prove(ctx context.Context, s *layout.Snapshot, files []*layout.File) error
}

// Conn returns a connection that proves the files that a statement may read before it runs, once
// per table, and defines the names that it uses.
func (db *DB) Conn(ctx context.Context) (*duck.Conn, error) {
	conn, err := db.Connect(ctx)
	if err != nil {
		return nil, err
	}
	proven := map[*schema.Table]bool{}
	conn.Before = func(ctx context.Context, text string) error {
		if err := db.prove(ctx, text, proven); err != nil {
			return err
		}
		names := db.made.namesIn(text)
		return db.define(ctx, conn, func(name string) bool { return names[name] })
	}
	return conn, nil
}

// prove proves the files that a statement may read, except those of proven tables.
func (db *DB) prove(ctx context.Context, text string, proven map[*schema.Table]bool) error {
	if db.prover == nil {
		return nil
	}
	tables := db.made.tablesOf(text)
	if db.rights.Agents != nil && len(tables) > 0 {
		tables = append(tables, &schema.Calls) // which assign the rows to agents
	}
	tables = slices.DeleteFunc(tables, func(t *schema.Table) bool { return proven[t] })
	var files []*layout.File
	for _, t := range tables {
		files = append(files, db.snap.Manifest.FilesOf(t.Name)...)
	}
	if len(files) == 0 {
		return nil
	}
	if err := db.prover.Prove(ctx, db.snap, files); err != nil {
		return err
	}
	for _, t := range tables {
		proven[t] = true
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
