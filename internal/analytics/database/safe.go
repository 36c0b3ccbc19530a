package database

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Limits are the limits of statements on a warehouse opened safely.
type Limits struct {
	Memory int64 // maximum bytes of DuckDB's memory
	Temp   int64 // maximum bytes of its temporary folder, for data that does not fit into memory
}

// seal restricts a database: from now on no file except the snapshot's own is opened, one by one, no extension is loaded, and
// no setting is changed except the zone, which every connection sets.
func (db *DB) seal(ctx context.Context, conn *duck.Conn, l *Limits) error {
	var files []string
	for _, t := range resource.Tables {
		if !db.rights.None() && !db.rights.Holds(t) && !(db.rights.Agents != nil && t == &schema.Calls) {
			continue
		}
		for _, f := range db.snap.Manifest.FilesOf(t.Name) {
			files = append(files, sqltext.Quote(db.snap.Path(f)))
		}
	}
	for _, text := range []string{
		fmt.Sprintf("SET GLOBAL memory_limit = '%d B'", l.Memory),
		fmt.Sprintf("SET GLOBAL max_temp_directory_size = '%d B'", l.Temp),
		"SET GLOBAL allowed_paths = CAST([" + strings.Join(files, ", ") + "] AS VARCHAR[])",
		"SET GLOBAL enable_external_access = false",
		"SET GLOBAL allowed_configs = ['TimeZone']",
		"SET GLOBAL lock_configuration = true",
	} {
		if err := conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("restrict access to the warehouse: %w", err)
		}
	}
	return nil
}

// absolute returns the absolute path of root without links, since DuckDB compares allowed paths as text.
func absolute(root string) (string, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil // opening a missing folder reports it
}
