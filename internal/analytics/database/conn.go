package database

import (
	"context"
	"slices"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
)

// Conn returns a connection for statements that read these stored tables and views, besides those that are defined already.
// Where DuckDB fails over a damaged file, the error is a *layout.DamageError.
func (db *DB) Conn(ctx context.Context, names ...string) (*duck.Conn, error) {
	db.defining.Lock()
	defer db.defining.Unlock()
	conn := db.first
	if db.first = nil; conn == nil {
		var err error
		if conn, err = db.Connect(ctx); err != nil {
			return nil, err
		}
	}
	if err := db.define(ctx, conn, names); err != nil {
		conn.Close()
		return nil, err
	}
	conn.Explain = db.explain
	return conn, nil
}

// ofFiles are the kinds of DuckDB's errors over unreadable files. Wrong values give some of them, too.
var ofFiles = []string{"IO", "Invalid", "Invalid Input", "Serialization", "Internal", "Out of Range"}

// explain compares the files of the tables that are defined with their checksums in the manifest,
// after an error that one of them may have caused, until all were found whole.
func (db *DB) explain(ctx context.Context, e *duck.Error) error {
	db.defining.Lock()
	defer db.defining.Unlock()
	if db.whole || !slices.Contains(ofFiles, e.Kind) {
		return e
	}
	var files []*layout.File
	for _, t := range resource.Tables {
		if db.defined["stored."+t.Name] {
			files = append(files, db.snap.Manifest.FilesOf(t.Name)...)
		}
	}
	if err := db.snap.VerifyChecksums(ctx, files); err != nil {
		return err
	}
	db.whole = true
	return e
}
