// Package database opens one snapshot of a warehouse in a DuckDB in memory: it defines the tables, views and macros that
// statements name, explains errors over damaged files, and seals the database for untrusted statements. It knows no report.
package database

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/layout"
)

// Options configure how a warehouse is opened. The zero value is ready to use.
type Options struct {
	// Location is the zone of local dates and hours, and of the times that SQL prints; nil is UTC.
	Location *time.Location
	// Threads and MemoryLimit (such as "4GB") limit DuckDB; zero: its defaults, but one thread for a small snapshot.
	Threads     int
	MemoryLimit string
	// Safe restricts untrusted statements: they read only the warehouse, within these limits, which
	// replace MemoryLimit. A process that must not die has to run them in another process, because
	// DuckDB does not enforce its memory limit everywhere.
	Safe *Limits
	// Rights limit the visible part of the warehouse.
	Rights rights.Rights
	// OldestFirst reads the rows of tables by time, for exports; else the newest come first.
	OldestFirst bool
	// Dialect is set if statements are not written for DuckDB; nil: they are.
	Dialect *Dialect
}

// DB is one snapshot, open in a DuckDB of its own. It may be used by several goroutines at once.
type DB struct {
	snap   *layout.Snapshot
	free   func() error // lets the snapshot be retired
	loc    *time.Location
	engine *duck.DB
	safe   bool // runs only statements that pass guard
	rights rights.Rights

	defining sync.Mutex
	defined  map[string]bool // the stored tables and views in DuckDB
	whole    bool            // the files are as the manifest describes them
	first    *duck.Conn      // made by Open, and not used yet

	oldestFirst bool
	dialect     *Dialect
}

// ZoneError means that DuckDB does not know a time zone.
type ZoneError struct {
	Name string
	Err  error
}

func (e *ZoneError) Error() string { return fmt.Sprintf("unknown time zone %q", e.Name) }

func (e *ZoneError) Unwrap() error { return e.Err }

// Open opens the current snapshot of the warehouse at root. It returns an error that wraps
// layout.ErrNoWarehouse if nothing was ever committed, and a *layout.VersionError if a newer
// program wrote the warehouse.
func Open(ctx context.Context, root string, o Options) (*DB, error) {
	if o.Safe != nil {
		var err error
		if root, err = absolute(root); err != nil {
			return nil, fmt.Errorf("find the warehouse: %w", err)
		}
	}
	snap, err := layout.Current(root)
	if err != nil {
		return nil, err
	}
	free := snap.Hold()
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Threads == 0 && isSmall(snap) {
		o.Threads = 1
	}
	engine, err := duck.Open(duck.Config{Threads: o.Threads, MemoryLimit: o.MemoryLimit})
	if err != nil {
		return nil, errors.Join(err, free())
	}
	db := &DB{snap: snap, free: free, loc: o.Location, engine: engine, safe: o.Safe != nil, rights: o.Rights,
		oldestFirst: o.OldestFirst, dialect: o.Dialect, defined: map[string]bool{}}
	if err := db.prepare(ctx, o.Safe); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// isSmall reports whether starting and waking a second thread for a snapshot costs more than it saves.
func isSmall(snap *layout.Snapshot) bool {
	var bytes int64
	for i := range snap.Manifest.Files {
		bytes += snap.Manifest.Files[i].Bytes
	}
	return bytes < 4<<20
}

// Close frees the database. Its rows must be closed first.
func (db *DB) Close() error {
	if db.first != nil {
		db.first.Close()
	}
	return errors.Join(db.engine.Close(), db.free())
}

// Snapshot returns the snapshot that the answers come from.
func (db *DB) Snapshot() *layout.Snapshot { return db.snap }

// Location returns the zone of local times.
func (db *DB) Location() *time.Location { return db.loc }

// Rights returns the limits of the visible part of the warehouse.
func (db *DB) Rights() rights.Rights { return db.rights }

// prepare sets up the database and defines the macros. Tables and views come when a statement needs
// them, since all together take longer than most reports. It seals a safe database.
func (db *DB) prepare(ctx context.Context, limits *Limits) error {
	conn, err := db.Connect(ctx)
	if err != nil {
		return err
	}
	db.first = conn
	for _, text := range []string{
		// A file never changes under its name, so cached metadata stays valid.
		"SET GLOBAL parquet_metadata_cache = true",
		// This optimizer turns a sum over a whole group into a join, and so one scan into two.
		"SET GLOBAL disabled_optimizers = 'window_self_join'",
		// Up to so many rows of a LIMIT, DuckDB finds the rows by the columns that decide, then reads
		// their other columns. The default is 50; previews of BI tools have 100 to 2,000.
		"SET GLOBAL late_materialization_max_rows = 10000",
		"CREATE SCHEMA stored",
		"BEGIN;\n" + macros(sqltext.LocalTime(db.loc, db.snap.Manifest, false),
			"CAST(getvariable('agent_names') AS MAP(VARCHAR, VARCHAR))") + "COMMIT",
	} {
		if err := conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("prepare DuckDB: %w", err)
		}
	}
	if db.dialect != nil {
		if err := conn.Exec(ctx, db.dialect.Definitions); err != nil {
			return fmt.Errorf("prepare DuckDB: %w", err)
		}
	}
	if limits == nil {
		return nil
	}
	return db.seal(ctx, conn, limits)
}

// Connect returns a connection in the warehouse's zone, so that no answer depends on where the
// program runs. Nothing is defined for its statements: see Conn.
func (db *DB) Connect(ctx context.Context) (*duck.Conn, error) {
	conn, err := db.engine.Connect()
	if err != nil {
		return nil, err
	}
	if err := setZone(ctx, conn, db.loc); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// setZone sets the zone of a connection. It returns a *ZoneError if DuckDB does not know the zone.
func setZone(ctx context.Context, conn *duck.Conn, loc *time.Location) error {
	if err := conn.Exec(ctx, "SET TimeZone = "+sqltext.Quote(loc.String())); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &ZoneError{Name: loc.String(), Err: err}
	}
	return nil
}

// CurrentAbsolute returns the current snapshot of the warehouse at root. Its path is absolute and
// has no links, so it means the same to any program.
func CurrentAbsolute(root string) (*layout.Snapshot, error) {
	root, err := absolute(root)
	if err != nil {
		return nil, fmt.Errorf("find the warehouse: %w", err)
	}
	return layout.Current(root)
}

// EngineVersion returns the version of the linked DuckDB, such as "v1.5.6".
func EngineVersion() string { return duck.Version() }
