// Package duck opens an in-memory DuckDB and streams the results of its
// statements, chunk by chunk, as exact Go values.
//
// It goes through DuckDB's C interface and not through the database/sql driver,
// for two reasons: the driver holds a whole result in memory, outside of
// DuckDB's own limit, and it turns JSON into floats and structs into maps,
// which loses digits and order. It knows nothing of warehouses.
package duck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"

	_ "github.com/duckdb/duckdb-go/v2" // pins DuckDB's version and links its library

	"callhouse/internal/scratch"
)

// Version returns the library's version, as in "v1.5.6".
func Version() string { return bindings.LibraryVersion() }

// Config says how much of the machine a database may take.
type Config struct {
	Threads     int    // 0: one per core
	MemoryLimit string // as in "4GB"; empty: DuckDB's default, 80 % of the machine's
}

// DB is an in-memory database, on its own.
type DB struct {
	db   bindings.Database
	temp *scratch.Dir
}

// Open makes an empty database. Extensions are neither fetched nor loaded: what
// is linked in (JSON, Parquet, time zones) is all there is.
func Open(c Config) (*DB, error) {
	// DuckDB would make it when it needs it, but for everybody to read (0755, and
	// the files in it 0644).
	temp, err := scratch.Make(scratch.Query)
	if err != nil {
		return nil, fmt.Errorf("create a folder for temporary data: %w", err)
	}
	settings := [][2]string{
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"temp_directory", temp.Path},
	}
	if c.Threads > 0 {
		settings = append(settings, [2]string{"threads", fmt.Sprint(c.Threads)})
	}
	if c.MemoryLimit != "" {
		settings = append(settings, [2]string{"memory_limit", c.MemoryLimit})
	}
	d := &DB{temp: temp}
	if err := d.open(settings); err != nil {
		return nil, errors.Join(err, temp.Remove())
	}
	return d, nil
}

func (d *DB) open(settings [][2]string) error {
	var config bindings.Config
	if bindings.CreateConfig(&config) == bindings.StateError {
		return fmt.Errorf("configure DuckDB: out of memory")
	}
	defer bindings.DestroyConfig(&config)
	for _, s := range settings {
		if bindings.SetConfig(config, s[0], s[1]) == bindings.StateError {
			return fmt.Errorf("configure DuckDB: %s = %s is rejected", s[0], s[1])
		}
	}
	var msg string
	if bindings.OpenExt("", &d.db, config, &msg) == bindings.StateError {
		bindings.Close(&d.db)
		return fmt.Errorf("open DuckDB: %w", parseError(msg))
	}
	return nil
}

// Close frees the database. Its connections must be closed.
func (d *DB) Close() error {
	bindings.Close(&d.db)
	if err := d.temp.Remove(); err != nil {
		return fmt.Errorf("remove DuckDB's temporary files: %w", err)
	}
	return nil
}

// Conn is a connection. It runs one statement at a time and is not safe for
// concurrent use; settings, variables and TEMP objects are its own.
type Conn struct {
	conn bindings.Connection
	// Before, if not nil, is told every statement before DuckDB sees it. An error
	// keeps it from being run, and is returned as it is.
	Before func(ctx context.Context, text string) error
	// MostRow is how large a row may be, in bytes, about; 0: no limit. A larger one is an
	// *Error of the kind TooLarge, and nothing of it is copied out of DuckDB's memory.
	MostRow int
	kept    map[string]*Stmt // by their texts
}

// Kept returns the statement of a text of ours that the connection runs again and again. Its rows must be closed
// before it runs again, and it ends with the connection.
func (c *Conn) Kept(ctx context.Context, text string) (*Stmt, error) {
	if s := c.kept[text]; s != nil {
		return s, nil
	}
	s, err := c.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if c.kept == nil {
		c.kept = map[string]*Stmt{}
	}
	c.kept[text] = s
	return s, nil
}

func (c *Conn) before(ctx context.Context, text string) error {
	if c.Before == nil {
		return nil
	}
	return c.Before(ctx, text)
}

// Connect returns a new connection.
func (d *DB) Connect() (*Conn, error) {
	c := new(Conn)
	if bindings.Connect(d.db, &c.conn) == bindings.StateError {
		return nil, fmt.Errorf("connect to DuckDB: refused")
	}
	return c, nil
}

// Close ends the connection. What it prepared must be closed.
func (c *Conn) Close() {
	for _, s := range c.kept {
		s.Close()
	}
	bindings.Disconnect(&c.conn)
}

// interruptEvery is how often a cancelled statement is told to stop. Once is
// not enough: DuckDB forgets an interrupt that comes just before the start.
const interruptEvery = 5 * time.Millisecond

// watch interrupts what the connection runs once ctx is done. The returned
// function ends that; after it no interrupt comes any more.
func (c *Conn) watch(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	var wg sync.WaitGroup
	wg.Add(1)
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer wg.Done()
		for {
			bindings.Interrupt(c.conn)
			select {
			case <-done:
				return
			case <-time.After(interruptEvery):
			}
		}
	})
	return func() {
		if cancel() {
			return
		}
		close(done)
		wg.Wait()
	}
}

// begin tells Before of a text, unless ctx is done already. Until end is called,
// ctx interrupts what runs.
func (c *Conn) begin(ctx context.Context, text string) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.before(ctx, text); err != nil {
		return nil, err
	}
	return c.watch(ctx), nil
}

// Exec runs statements for their effect.
func (c *Conn) Exec(ctx context.Context, text string) error {
	if err := c.before(ctx, text); err != nil {
		return err
	}
	defer c.watch(ctx)()
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(c.conn, text, &res) == bindings.StateError {
		return cancelled(ctx, parseError(bindings.ResultError(&res)))
	}
	return nil
}

// Query runs one statement and streams its result. Closing the rows closes
// the statement.
func (c *Conn) Query(ctx context.Context, text string, args ...any) (*Rows, error) {
	s, err := c.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := s.Query(ctx, args...)
	if err != nil {
		s.Close()
		return nil, err
	}
	return rows, nil
}

// QuerySmall runs a text of ours whose result is small. DuckDB plans it once, but
// holds the result as a whole; what [Conn.Query] streams it plans twice where it
// reads files.
func (c *Conn) QuerySmall(ctx context.Context, text string) (*Rows, error) {
	end, err := c.begin(ctx, text)
	if err != nil {
		return nil, err
	}
	defer end()
	rows := &Rows{stmt: &Stmt{conn: c}}
	if bindings.Query(c.conn, text, &rows.res) == bindings.StateError {
		err := parseError(bindings.ResultError(&rows.res)).in(text)
		bindings.DestroyResult(&rows.res)
		return nil, cancelled(ctx, err)
	}
	if err := rows.describe(); err != nil {
		bindings.DestroyResult(&rows.res)
		return nil, err
	}
	return rows, nil
}

// InMemory gives do a connection to a DuckDB that holds nothing.
func InMemory(do func(*Conn) error) (err error) {
	db, err := Open(Config{Threads: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

// Column collects the texts of a short result's one column.
func (c *Conn) Column(ctx context.Context, text string, args ...any) ([]string, error) {
	rows, err := c.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		s, _ := row[0].(string)
		out = append(out, s)
	}
}
