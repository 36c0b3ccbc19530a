package opened

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/schema"
)

// Limits on memory: all copies together take at most 1/copiesShare of the statements' memory. Rows
// that take more than 1/fileShare of that in their files, where they are about ten times smaller,
// are never copied.
const (
	copiesShare = 8
	fileShare   = 16
)

// mostWaiting is the maximum number of copies waiting to be made. The next statement requests a
// copy beyond that again.
const mostWaiting = 4

// mostLeast is the upper limit of copies.least.
const mostLeast = 1 << 10

// copies are native DuckDB tables with rows of views over files. DuckDB plans such a view twice,
// with all its derived columns, which takes ten times as long as reading a few rows of a table.
// Rows that a statement could have read from a copy are copied in the background, for later
// statements. A copy holds the rows of one snapshot, as its reader sees them.
type copies struct {
	db      *DB
	most    int64 // maximum bytes of all copies; 0: none are made
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	asked   map[string]*askedFor // by name
	waiting []copyJob
	busy    bool
	failed  error
	least   int                           // number of requests for a part before it is copied
	parts   *simplelru.LRU[string, int64] // sizes of the copies that may be dropped, least recently used first
	bytes   int64                         // of all copies
}

// askedFor is a copy that a statement could have read.
type askedFor struct {
	times     int
	isThere   bool
	isWaiting bool // or cannot be made
}

type copyJob struct {
	name string
	make func(context.Context, *duck.Conn) error
}

// errTooLarge means that a copy would take too much memory.
var errTooLarge = errors.New("the copy is too large")

func newCopies(db *DB, o Options) *copies {
	c := &copies{db: db, asked: map[string]*askedFor{}, least: 2}
	if o.Copies && o.Safe != nil {
		c.most = o.Safe.Memory / copiesShare
	}
	const unlimited = 1 << 30
	c.parts, _ = simplelru.NewLRU[string, int64](unlimited, nil)
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// has reports whether a copy exists. If it does not, but was requested often enough, it is made in
// the background.
func (c *copies) has(name string, isPart bool, make func(context.Context, *duck.Conn) error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.asked[name]
	if of == nil {
		of = new(askedFor)
		c.asked[name] = of
	}
	of.times++
	c.parts.Get(name) // it is used now
	if of.isThere || of.isWaiting || isPart && of.times < c.least || c.most == 0 || c.ctx.Err() != nil || len(c.waiting) == mostWaiting {
		return of.isThere
	}
	of.isWaiting = true
	c.waiting = append(c.waiting, copyJob{name, make})
	if !c.busy {
		c.busy = true
		c.running.Go(c.work)
	}
	return false
}

// work makes copies until none are waiting.
func (c *copies) work() {
	conn, failed := c.db.Conn(c.ctx)
	if failed == nil {
		defer conn.Close()
		failed = c.db.DefineAll(c.ctx, conn)
	}
	for job := c.next(); job != nil; job = c.next() {
		err := failed
		if err == nil {
			err = job.make(c.ctx, conn)
		}
		c.mu.Lock()
		if err == nil {
			c.asked[job.name].isThere = true
		} else if !errors.Is(err, errTooLarge) {
			c.failed = errors.Join(c.failed, fmt.Errorf("copy rows to %s: %w", job.name, err))
		}
		c.mu.Unlock()
	}
}

// next returns the next waiting copy; nil: there is none, and work ends.
func (c *copies) next() *copyJob {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 || c.ctx.Err() != nil {
		c.busy = false
		return nil
	}
	job := c.waiting[0]
	c.waiting = c.waiting[1:]
	return &job
}

// close stops making copies.
func (c *copies) close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.running.Wait()
}

// Copied waits until no copy is in progress, and returns why some could not be made.
func (db *DB) Copied() error {
	db.copies.running.Wait()
	db.copies.mu.Lock()
	defer db.copies.mu.Unlock()
	return db.copies.failed
}

// copyOf returns the SQL name of a copy.
func copyOf(name string) string { return "copies." + strings.ReplaceAll(name, ".", "_") }

// table copies the rows of a SELECT, and returns the size of the copy in bytes.
func (c *copies) table(ctx context.Context, conn *duck.Conn, name, text string) (int64, error) {
	if err := c.db.NameAgents(ctx, conn, text); err != nil {
		return 0, err
	}
	before, err := tableBytes(ctx, conn)
	if err != nil {
		return 0, err
	}
	if err := conn.Exec(ctx, "CREATE TABLE "+copyOf(name)+" AS "+text); err != nil {
		return 0, err
	}
	after, err := tableBytes(ctx, conn)
	if size := after - before; err == nil && size <= c.most/2 {
		return size, nil
	}
	return 0, errors.Join(err, errTooLarge, c.db.making(ctx, conn, name, "DROP TABLE "+copyOf(name)))
}

// tableBytes returns the memory that DuckDB's tables take.
func tableBytes(ctx context.Context, conn *duck.Conn) (int64, error) {
	all, err := conn.Column(ctx, "SELECT CAST(sum(memory_usage_bytes) AS VARCHAR) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(all[0], 10, 64)
}

// fits reports whether rows of a table may be copied, judging by the size of its files.
func (c *copies) fits(t *schema.Table, rows int64) bool {
	for _, f := range c.db.snap.Manifest.FilesOf(t.Name) {
		if f.Rows > 0 && f.Bytes/f.Rows*min(rows, f.Rows) > c.most/fileShare {
			return false
		}
	}
	return true
}

// copyPart copies a piece of a file of calls, and makes the views over that piece read the copy.
func (db *DB) copyPart(ctx context.Context, conn *duck.Conn, name string, p piece) error {
	c := db.copies
	if !c.fits(&schema.Calls, pieceRows) {
		return errTooLarge
	}
	if err := db.part(ctx, conn, name, p); err != nil {
		return err
	}
	size, err := c.table(ctx, conn, name, "FROM "+name+".calls")
	if err != nil {
		return err
	}
	if err := db.defineNow(ctx, conn, name, "CREATE OR REPLACE VIEW "+name+".calls AS FROM "+copyOf(name)); err != nil {
		return err
	}
	c.mu.Lock()
	c.parts.Add(name, size)
	c.bytes += size
	var dropped []string
	for c.bytes > c.most && c.parts.Len() > 1 {
		old, size, _ := c.parts.RemoveOldest()
		c.bytes -= size
		delete(c.asked, old)
		dropped = append(dropped, old)
	}
	if dropped != nil { // more are requested than fit, and copying them over and over costs more than it saves
		c.least = min(2*c.least, mostLeast)
	}
	c.mu.Unlock()
	for _, old := range dropped { // statements that are already planned are planned again, or finish reading
		if err := db.defineNow(ctx, conn, old, partView(old, "calls"), "DROP TABLE "+copyOf(old)); err != nil {
			return err
		}
	}
	return nil
}

// Top returns the schema in which a view has a copy of its first or newest rows; empty: there is
// none yet.
func (s *Session) Top(view string, isNewest bool) string {
	name, copying := guard.FirstSchema, s.db.firstRows
	if isNewest {
		name, copying = guard.LatestSchema, s.db.newestRows
	}
	copied := name + "." + view
	copyNow := func(ctx context.Context, conn *duck.Conn) error {
		return s.db.copyTop(ctx, conn, copied, view, copying)
	}
	if !s.db.copies.has(copied, false, copyNow) {
		return ""
	}
	return name
}

// copyTop makes a view over a copy of some rows of a view.
func (db *DB) copyTop(ctx context.Context, conn *duck.Conn, name, view string,
	rows func(context.Context, *duck.Conn, string) (string, error)) error {
	for _, t := range db.made.tablesOf(view) {
		if !db.copies.fits(t, guard.TopRows) {
			return errTooLarge
		}
	}
	text, err := rows(ctx, conn, view)
	if err != nil {
		return err
	}
	size, err := db.copies.table(ctx, conn, name, text)
	if err != nil {
		return err
	}
	db.copies.mu.Lock()
	db.copies.bytes += size
	db.copies.mu.Unlock()
	return db.defineNow(ctx, conn, name, "CREATE VIEW "+name+" AS FROM "+copyOf(name))
}

// firstRows returns a SELECT of the first rows of a view, in its order.
func (db *DB) firstRows(_ context.Context, _ *duck.Conn, view string) (string, error) {
	return fmt.Sprintf("FROM %s LIMIT %d", view, guard.TopRows), nil
}

// newestRows returns a SELECT of a view's newest rows, all rows as new as the last of them, and the
// rows without a time.
func (db *DB) newestRows(ctx context.Context, conn *duck.Conn, view string) (string, error) {
	at := guard.Times[view]
	last, err := conn.Column(ctx, fmt.Sprintf("SELECT CAST(epoch_us(%s) AS VARCHAR) FROM %s ORDER BY %s DESC NULLS LAST LIMIT 1 OFFSET %d",
		at, view, at, guard.TopRows-1))
	if err != nil {
		return "", err
	}
	isNew := at + " IS NOT NULL"
	if len(last) > 0 && last[0] != "" {
		isNew = fmt.Sprintf("%s >= make_timestamptz(%s)", at, last[0])
	}
	text := fmt.Sprintf("FROM %s WHERE %s OR %s IS NULL", view, isNew, at)
	n, err := conn.Column(ctx, "SELECT CAST(count(*) AS VARCHAR) FROM (SELECT 1 "+text+fmt.Sprintf(" LIMIT %d)", mostNewest+1))
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(n[0]); err != nil || n > mostNewest {
		return "", errTooLarge
	}
	return text, nil
}

// mostNewest is the maximum number of rows in a copy of the newest rows, if many share a time or
// have none.
const mostNewest = 4 * guard.TopRows

// defineNow is making, for one definition of the warehouse at a time.
func (db *DB) defineNow(ctx context.Context, conn *duck.Conn, name string, texts ...string) error {
	db.defining.Lock()
	defer db.defining.Unlock()
	return db.making(ctx, conn, name, texts...)
}
