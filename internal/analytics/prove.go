package analytics

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Prover compares files of a snapshot with their checksums before they are read.
type Prover interface {
	Prove(ctx context.Context, s *layout.Snapshot, files []*layout.File) error
}

// ask returns a connection on which the files that a statement may read are proven
// before it runs, those of each table once.
func (w *Warehouse) ask(ctx context.Context) (*duck.Conn, error) {
	conn, err := w.connect(ctx)
	if err == nil && w.prover != nil {
		proven := map[*schema.Table]bool{}
		conn.Before = func(ctx context.Context, text string) error {
			tables := slices.DeleteFunc(tablesOf(text), func(t *schema.Table) bool { return proven[t] })
			var files []*layout.File
			for _, t := range tables {
				files = append(files, w.snap.Manifest.FilesOf(t.Name)...)
			}
			if len(files) == 0 {
				return nil
			}
			if err := w.prover.Prove(ctx, w.snap, files); err != nil {
				return err
			}
			for _, t := range tables {
				proven[t] = true
			}
			return nil
		}
	}
	return conn, err
}

var wordRE = regexp.MustCompile(`[a-z_][a-z0-9_]*`)

// defined returns the SQL of the views and macros by their names.
var defined = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, v := range sqlfiles.Views() {
		out[v.Name] = v.SQL
	}
	all := sqlfiles.Macros() + sqlfiles.PastMacros()
	at := definitionRE.FindAllStringSubmatchIndex(all, -1)
	for i, m := range at {
		end := len(all)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out[all[m[2]:m[3]]] += all[m[0]:end]
	}
	return out
})

// dynamic are functions through which a statement may read what it does not name.
var dynamic = []string{"query", "query_table"}

// tablesOf returns the stored tables that a statement may read: those whose names
// are words of it, or of a view or macro that it names. It may name too many.
func tablesOf(text string) []*schema.Table {
	words := map[string]bool{}
	var add func(text string)
	add = func(text string) {
		for _, word := range wordRE.FindAllString(strings.ToLower(text), -1) {
			if !words[word] {
				words[word] = true
				add(defined()[word])
			}
		}
	}
	add(text)
	for _, name := range dynamic {
		if words[name] {
			return slices.Clone(resource.AllTables)
		}
	}
	var out []*schema.Table
	for _, t := range resource.AllTables {
		if words[t.Name] {
			out = append(out, t)
		}
	}
	return out
}
