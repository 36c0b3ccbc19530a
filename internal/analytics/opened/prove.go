package opened

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Conn returns a connection for statements that read these stored tables and views, beside others
// that are defined already: see Define. Before a statement runs, it compares the files that it may
// read with their checksums in the manifest. DuckDB verifies only the checksums of pages: without
// this, a changed byte of a footer or of a page's header may become a wrong number.
func (db *DB) Conn(ctx context.Context, names ...string) (*duck.Conn, error) {
	conn, err := db.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.Define(ctx, conn, names...); err != nil {
		conn.Close()
		return nil, err
	}
	conn.Before = db.prove
	return conn, nil
}

// prove compares the files that a statement may read with their checksums, once per table. A file
// that differs is a *layout.DamageError.
func (db *DB) prove(ctx context.Context, text string) error {
	tables := tablesOf(text)
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

var wordRE = regexp.MustCompile(`[a-z_][a-z0-9_]*`)

// tablesOf returns the stored tables that a statement may read: those whose names are words of the
// statement, or below a view that is. It may return too many.
func tablesOf(text string) (out []*schema.Table) {
	words := map[string]bool{}
	for _, word := range wordRE.FindAllString(strings.ToLower(text), -1) {
		words[word] = true
	}
	for _, v := range slices.Backward(sqlfiles.Views()) { // each before those that it reads
		if words[v.Name] {
			for _, name := range v.Reads {
				words[strings.TrimPrefix(name, "stored.")] = true
			}
		}
	}
	for _, r := range resource.All {
		words[resource.Changes.Name] = words[resource.Changes.Name] || words[r.Name+"_at"]
	}
	for _, t := range resource.Tables {
		if words[t.Name] || words["query"] || words["query_table"] { // these read tables that a statement does not name
			out = append(out, t)
		}
	}
	return out
}
