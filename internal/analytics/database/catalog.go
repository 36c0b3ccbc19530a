package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// storage is the oldest storage version, readable by DuckDB 1.0 and later.
const storage = "v1.0.0"

// CatalogScript returns the statements that create the views of a snapshot, their comments and their macros in an empty
// DuckDB database. They have the files' paths (absolute if the snapshot's is) and the offsets of the zone, and need only
// the extensions json and parquet.
func CatalogScript(snap *layout.Snapshot, loc *time.Location) string {
	var b strings.Builder
	b.WriteString("CREATE SCHEMA stored;\n" + sqltext.Relations(snap, resource.Tables...))
	b.WriteString("\n" + macros(sqltext.LocalTime(loc, snap.Manifest, true), "("+agentNames+")"))
	for _, v := range sqlfiles.Views() {
		fmt.Fprintf(&b, "\nCREATE VIEW %s AS\n%s;\n", v.Name, v.SQL)
		fmt.Fprintf(&b, "COMMENT ON VIEW %s IS %s;\n", v.Name, sqltext.Quote(v.Answers+"; "+v.Grain))
		for _, c := range v.Columns {
			fmt.Fprintf(&b, "COMMENT ON COLUMN %s.%s IS %s;\n", v.Name, sqltext.Ident(c.Name), sqltext.Quote(columnComment(c)))
		}
	}
	b.WriteString("\n" + snapshotView(snap, loc))
	return b.String()
}

func columnComment(c sqlfiles.Column) string {
	switch c.Unit {
	case "", "number", "prose":
		return c.Meaning
	}
	return c.Meaning + " (" + c.Unit + ")"
}

// snapshotView returns the statement that creates the view snapshot, which identifies the commit.
func snapshotView(snap *layout.Snapshot, loc *time.Location) string {
	m := snap.Manifest
	return fmt.Sprintf(`CREATE VIEW snapshot AS
SELECT %d AS snapshot, %s AS run_id, make_timestamp(%d) AS committed_at_utc, %s AS zone, %s AS folder;
COMMENT ON VIEW snapshot IS 'the commit that all views read, the zone of local days, and the location of the files '
    '(if they are missing, the warehouse has moved: run query catalog again); one row';
`, m.Snapshot, sqltext.Quote(m.RunID), m.CommittedAt.UnixMicro(), sqltext.Quote(loc.String()), sqltext.Quote(snap.Dir))
}

// WriteCatalog creates a closed DuckDB database with the views of a snapshot at path, which must not exist.
func WriteCatalog(ctx context.Context, snap *layout.Snapshot, loc *time.Location, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // DuckDB would open an existing database and add to it
		return &os.PathError{Op: "create the catalog", Path: path, Err: fs.ErrExist}
	}
	return duck.InMemory(func(conn *duck.Conn) error {
		for _, text := range []string{
			"ATTACH " + sqltext.Quote(path) + " AS catalog_file (STORAGE_VERSION " + sqltext.Quote(storage) + ")",
			"USE catalog_file",
			"BEGIN", // one commit is one write to the disk
			CatalogScript(snap, loc),
			"COMMIT",
			"USE memory",
			"DETACH catalog_file", // writes everything and leaves no log file
		} {
			if err := conn.Exec(ctx, text); err != nil {
				return fmt.Errorf("create the catalog: %w", err)
			}
		}
		return nil
	})
}

// IsCatalog reports whether the DuckDB database at path has the views of a catalog, and no other ones and no tables.
func IsCatalog(ctx context.Context, path string) (ok bool, err error) {
	err = duck.InMemory(func(conn *duck.Conn) error {
		if err := conn.Exec(ctx, "ATTACH "+sqltext.Quote(path)+" AS there (READ_ONLY)"); err != nil {
			return err
		}
		names, err := conn.Column(ctx, "SELECT view_name FROM duckdb_views() WHERE database_name = 'there' AND schema_name <> 'stored' "+
			"AND NOT internal UNION ALL SELECT 'a table' FROM duckdb_tables() WHERE database_name = 'there'")
		ok = slices.Contains(names, "snapshot") && !slices.ContainsFunc(names, func(name string) bool {
			_, ours := sqlfiles.View(name)
			return !ours && name != "snapshot"
		})
		return err
	})
	return ok, err
}
