// Package duck opens an in-memory DuckDB and streams results chunk by chunk as exact Go values. It uses DuckDB's C
// interface: the database/sql driver holds a whole result in memory, and loses digits and order of JSON. It knows no warehouse.
package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"

	_ "github.com/duckdb/duckdb-go/v2" // pins DuckDB's version and links its library

	"callhouse/internal/scratch"
)

// Version returns the library's version, such as "v1.5.6".
func Version() string { return bindings.LibraryVersion() }

// Config limits the resources of a database.
type Config struct {
	Threads     int    // 0: one per core
	MemoryLimit string // such as "4GB"; empty: DuckDB's default, 80 % of the machine's
}

// DB is an in-memory database.
type DB struct {
	db   bindings.Database
	temp *scratch.Dir // nil: none can be made
}

// Open makes an empty database with the linked extensions (JSON, Parquet, time zones). Others are
// neither fetched nor loaded.
func Open(c Config) (*DB, error) {
	// DuckDB would create it readable by everyone (0755, files 0644). Without one, only a statement
	// that exceeds the memory fails.
	temp, err := scratch.MakeIfPossible(scratch.Query)
	if err != nil {
		return nil, fmt.Errorf("create a folder for temporary data: %w", err)
	}
	settings := [][2]string{
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"temp_directory", temp.Where()},
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

// Close frees the database. Its connections must be closed first.
func (d *DB) Close() error {
	bindings.Close(&d.db)
	if err := d.temp.Remove(); err != nil {
		return fmt.Errorf("remove DuckDB's temporary files: %w", err)
	}
	return nil
}

// Conn is a connection with its own settings, variables and TEMP objects. It runs one statement at
// a time and is not safe for concurrent use.
type Conn struct {
	conn bindings.Connection
	// Explain, if not nil, may replace an error of DuckDB by its cause.
	Explain func(context.Context, *Error) error
	// MaxRow is the approximate maximum size of a row in bytes; 0: no limit. A larger row is an
	// *Error of kind TooLarge and is not copied out of DuckDB's memory.
	MaxRow int
	cached map[string]*Stmt // by text
}

// Cached returns the prepared statement of a built-in text that the connection runs repeatedly. Its
// rows must be closed before it runs again, and it ends with the connection.
func (c *Conn) Cached(ctx context.Context, text string) (*Stmt, error) {
	if s := c.cached[text]; s != nil {
		return s, nil
	}
	s, err := c.Prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if c.cached == nil {
		c.cached = map[string]*Stmt{}
	}
	c.cached[text] = s
	return s, nil
}

// Connect returns a new connection.
func (d *DB) Connect() (*Conn, error) {
	c := new(Conn)
	if bindings.Connect(d.db, &c.conn) == bindings.StateError {
		return nil, fmt.Errorf("connect to DuckDB: refused")
	}
	return c, nil
}

// Close ends the connection. Its prepared statements must be closed first.
func (c *Conn) Close() {
	for _, s := range c.cached {
		s.Close()
	}
	bindings.Disconnect(&c.conn)
}

// interruptEvery is the interval between interrupts of a cancelled statement. One is not enough:
// DuckDB drops an interrupt that arrives just before the start.
const interruptEvery = 5 * time.Millisecond

// watch interrupts the connection once ctx is done. No interrupt follows after the returned function has returned.
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

// failed returns the error for one of DuckDB's messages: the cause of ctx if it is done. If rows fail on several threads,
// DuckDB sometimes returns the interrupt of the others instead.
func (c *Conn) failed(ctx context.Context, msg string) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	e := parseError(msg)
	if strings.EqualFold(e.Kind, "interrupt") {
		e.Message = "the statement failed and DuckDB returned no reason: run it again"
	}
	if c.Explain == nil {
		return e
	}
	return c.Explain(ctx, e)
}

// Exec runs statements without returning rows.
func (c *Conn) Exec(ctx context.Context, text string) error {
	defer c.watch(ctx)()
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(c.conn, text, &res) == bindings.StateError {
		return c.failed(ctx, bindings.ResultError(&res))
	}
	return nil
}

// Query runs one statement and streams its result. Closing the rows closes the statement.
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

// QuerySmall runs a built-in text with a small result. DuckDB plans it once but materialises the
// result; a statement over files that [Conn.Query] streams is planned twice.
func (c *Conn) QuerySmall(ctx context.Context, text string) (*Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer c.watch(ctx)()
	rows := &Rows{stmt: &Stmt{conn: c}}
	if bindings.Query(c.conn, text, &rows.res) == bindings.StateError {
		err := c.failed(ctx, bindings.ResultError(&rows.res))
		bindings.DestroyResult(&rows.res)
		return nil, err
	}
	return rows, rows.describe()
}

// InMemory calls do with a connection to an empty DuckDB.
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

// Column returns the strings of a result with one column.
func (c *Conn) Column(ctx context.Context, text string, args ...any) ([]string, error) {
	query := c.QuerySmall
	if len(args) > 0 {
		query = func(ctx context.Context, text string) (*Rows, error) { return c.Query(ctx, text, args...) }
	}
	rows, err := query(ctx, text)
	if err != nil {
		return nil, err
	}
	var out []string
	err = rows.Each(ctx, func(row []any) {
		s, _ := row[0].(string)
		out = append(out, s)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
