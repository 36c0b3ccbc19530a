package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

var (
	// readFor is how long TestReadersOfABusyWarehouse reads; make soak takes a minute.
	readFor     = longtest.Int("read-for", 0, 5, "how many seconds the readers of a busy warehouse read; 0: until some commits are made")
	busyQueries = longtest.Int("busy-queries", 4, 24, "how many questions TestReadersOfABusyWarehouse asks")
)

// busyCommits is the minimum number of commits: more than a day of them, so that old snapshots are removed.
const busyCommits = 28

// totals are the sums of a snapshot.
type totals struct{ Calls, Turns, Items, TurnCount, Cost int64 }

// busy is a warehouse with continuous commits: new calls, changed ones, compacted months, removed snapshots.
type busy struct {
	t    *testing.T
	root string
	w    *sink.Warehouse
	now  time.Time
	rnd  *rand.Rand

	turns map[string]int // of every call
	start map[string]int64
	ids   []string
	sum   totals

	mu      sync.Mutex
	moved   *sync.Cond
	reading map[int64]int    // snapshots being read
	want    map[int64]totals // of every snapshot so far
	months  int              // compacted
	over    bool
}

func newBusy(t *testing.T) *busy {
	t.Helper()
	b := &busy{t: t, root: filepath.Join(t.TempDir(), "w"), now: time.Date(2026, 11, 20, 2, 10, 0, 0, time.UTC),
		rnd: rand.New(rand.NewPCG(51, 0)), turns: map[string]int{}, start: map[string]int64{}, reading: map[int64]int{}, want: map[int64]totals{}}
	b.moved = sync.NewCond(&b.mu)
	var err error
	b.w, err = sink.Open(sink.Options{Root: b.root, RunID: layout.RunID(b.now, 1), Now: func() time.Time { return b.now }})
	test.OK(t, err)
	t.Cleanup(func() { test.OK(t, b.w.Close()) })
	test.OK(t, b.commit())
	return b
}

// put stores a new call, or a new state of one, with the given number of turns.
func (b *busy) put(id string, turns int) error {
	start := b.start[id]
	body := fmt.Appendf(nil, `{"id":%q,"status":"ended","start_at":%d,"end_at":%d,"call_cost":{"total_cost":"%d.25"},`+
		`"call_analysis":{"summary":"s","user_sentiment":"neutral","custom_analysis_data":[`, id, start, start+1000, turns)
	for i := range turns % 3 {
		body = fmt.Appendf(append(body, ","[:min(i, 1)]...), `{"type":"number","name":"n","value":%d}`, i)
	}
	body = append(body, `]},"transcript":[`...)
	for i := range turns {
		body = fmt.Appendf(append(body, ","[:min(i, 1)]...), `{"role":"user","content":"turn %d of %d"}`, i, turns)
	}
	was, known := b.turns[id]
	if known {
		b.sum = b.sum.plus(was, -1)
	}
	b.turns[id], b.sum = turns, b.sum.plus(turns, 1)
	return b.w.Put(context.Background(), schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: b.now.UnixMilli(), Body: append(body, "]}"...)})
}

// plus adds a call with the given number of turns, or subtracts one.
func (s totals) plus(turns int, sign int64) totals {
	n := int64(turns)
	return totals{s.Calls + sign, s.Turns + sign*n, s.Items + sign*(n%3), s.TurnCount + sign*n, s.Cost + sign*(10_000*n+2_500)}
}

// commit commits some new and some changed calls.
func (b *busy) commit() error {
	for range 12 {
		id := fmt.Sprintf("call-%06d", len(b.ids))
		b.ids = append(b.ids, id)
		b.start[id] = b.now.Add(-time.Duration(b.rnd.Int64N(int64(100 * 24 * time.Hour)))).UnixMilli()
		if err := b.put(id, b.rnd.IntN(6)); err != nil {
			return err
		}
	}
	for range 3 {
		id := b.ids[b.rnd.IntN(len(b.ids))]
		if err := b.put(id, b.turns[id]+1); err != nil {
			return err
		}
	}
	if err := b.w.Finish(context.Background(), func(s sink.Stats, _ int64) schema.Run {
		return schema.Run{ID: b.w.RunID(), StartedAt: b.now.UnixMilli(), Outcome: schema.OutcomeDone, CallsNew: s.New}
	}); err != nil {
		return err
	}
	b.note()
	return b.compact()
}

// compact compacts an eligible month, like a night without new calls for it.
func (b *busy) compact() error {
	for _, m := range sink.Months(b.w.Snapshot(), b.now) {
		if m.Waits == "" {
			done, err := b.w.Compact(context.Background(), []string{m.Month}, nil)
			b.months += len(done)
			b.note()
			return err
		}
	}
	return nil
}

// note records the expected sums of the current snapshot, and advances the time. A day is 24
// commits here; it waits for readers, so that none reads longer than that.
func (b *busy) note() {
	b.mu.Lock()
	defer b.mu.Unlock()
	current := b.w.Snapshot().Manifest.Snapshot
	b.want[current] = b.sum
	b.now = b.now.Add(time.Hour)
	b.moved.Broadcast()
	for slices.ContainsFunc(slices.Collect(maps.Keys(b.reading)), func(n int64) bool { return n < current-15 }) {
		b.moved.Wait()
	}
}

// end records that there are no more commits.
func (b *busy) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.moved.Broadcast()
}

// await waits for a snapshot other than the given one, and reports whether more may follow.
func (b *busy) await(last int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.over && b.w.Snapshot().Manifest.Snapshot == last {
		b.moved.Wait()
	}
	return !b.over
}

// enter resolves the warehouse once; leave must be called after reading.
func (b *busy) enter() (s *layout.Snapshot, leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, err = layout.Current(b.root); err != nil {
		return nil, nil, err
	}
	n := s.Manifest.Snapshot
	b.reading[n]++
	return s, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.reading[n]--; b.reading[n] == 0 {
			delete(b.reading, n)
		}
		b.moved.Broadcast()
	}, nil
}

// run commits until stop is closed, and at least the given number of times.
func (b *busy) run(stop <-chan struct{}, least int) (commits int, err error) {
	for {
		select {
		case <-stop:
			if commits >= least {
				return commits, nil
			}
		default:
		}
		if err := b.commit(); err != nil {
			return commits, err
		}
		commits++
	}
}

// saw is what a reader read from a snapshot.
type saw struct {
	snapshot int64
	totals
}

// check compares the readers' results with the snapshots.
func (b *busy) check(seen []saw) {
	b.t.Helper()
	different := map[int64]bool{}
	for _, s := range seen {
		different[s.snapshot] = true
		if want := b.want[s.snapshot]; s.totals != want {
			b.t.Fatalf("snapshot %d adds up to %+v, it was committed with %+v", s.snapshot, s.totals, want)
		}
	}
	snapshots, err := filepath.Glob(filepath.Join(b.root, layout.SnapshotsName, "*"))
	test.OK(b.t, err)
	b.t.Logf("%d readings of %d snapshots, of %d committed; %d are kept; months were compacted %d times", len(seen), len(different), len(b.want), len(snapshots), b.months)
	if b.months == 0 || len(snapshots) == len(b.want) {
		b.t.Error("nothing was compacted, or no snapshot was removed")
	}
}

// During commits, compaction and retention, DuckDB reads resolved snapshots (two readers in the quick tests,
// else four), and SQL and a report run: there is no error, and each result equals one commit.
func TestReadersOfABusyWarehouse(t *testing.T) {
	longtest.Only(t)
	b := newBusy(t)
	var seen []saw
	var mu sync.Mutex
	var readers, askers sync.WaitGroup
	see := func(s saw, err error) bool {
		if err != nil {
			t.Error(err)
			return false
		}
		mu.Lock()
		seen = append(seen, s)
		mu.Unlock()
		return true
	}
	count := 4
	if *readFor == 0 {
		count = 2
	}
	for range count {
		readers.Go(func() {
			db, err := sql.Open("duckdb", "?threads=1")
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			last := int64(0) // continuously in the long tests, else each snapshot once
			for b.await(last) {
				s, err := b.read(db)
				if !see(s, err) {
					return
				}
				if *readFor == 0 {
					last = s.snapshot
				}
			}
		})
	}
	for range 2 {
		askers.Go(func() {
			for range *busyQueries / 4 { // two questions each
				if !see(b.ask(t.Context())) {
					return
				}
			}
		})
	}
	enough := make(chan struct{})
	pause := time.After(time.Duration(*readFor) * time.Second)
	go func() {
		<-pause
		askers.Wait()
		close(enough)
	}()
	_, err := b.run(enough, busyCommits)
	b.end()
	readers.Wait()
	askers.Wait()
	test.OK(t, err)
	b.check(seen)
}

// read sums up a snapshot from its files, like any tool.
func (b *busy) read(db *sql.DB) (out saw, err error) {
	s, leave, err := b.enter()
	if err != nil {
		return out, err
	}
	defer leave()
	from := func(table string) string {
		return fmt.Sprintf("read_parquet('%s', hive_partitioning = true)", filepath.Join(s.Dir, table, "**", "*.parquet"))
	}
	out.snapshot = s.Manifest.Snapshot
	row := db.QueryRowContext(b.t.Context(), fmt.Sprintf(`SELECT count(*), (SELECT count(*) FROM %s), (SELECT count(*) FROM %s), sum(turn_count)::BIGINT,
		(sum(total_cost) * 10000)::BIGINT FROM %s`, from("transcript_turns"), from("analysis_items"), from("calls")))
	if err := row.Scan(&out.Calls, &out.Turns, &out.Items, &out.TurnCount, &out.Cost); err != nil {
		return out, fmt.Errorf("read snapshot %d: %w", out.snapshot, err)
	}
	return out, nil
}

// ask gets the same sums from the analytics, by SQL and by a report.
func (b *busy) ask(ctx context.Context) (out saw, err error) {
	_, leave, err := b.enter() // the current snapshot stays from here on
	if err != nil {
		return out, err
	}
	defer leave()
	w, err := analytics.Open(ctx, b.root, analytics.Options{Options: database.Options{Threads: 1}})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	out.snapshot = w.Snapshot().Manifest.Snapshot
	rows, err := w.SQL(ctx, `SELECT count(*), (SELECT count(*) FROM transcript_turns), (SELECT count(*) FROM analysis_items),
		sum(turn_count)::BIGINT, (sum(total_cost) * 10000)::BIGINT FROM calls`)
	if err != nil {
		return out, err
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	if err != nil {
		return out, err
	}
	out.totals = totals{row[0].(int64), row[1].(int64), row[2].(int64), row[3].(int64), row[4].(int64)}
	report, err := w.Ask(ctx, analytics.Question{Report: "sentiment", Params: question.Params{}})
	if err != nil {
		return out, err
	}
	defer report.Close()
	var calls int64
	for {
		row, err := report.Next(ctx)
		if errors.Is(err, io.EOF) || err == nil && row == nil {
			break
		}
		if err != nil {
			return out, err
		}
		for i, c := range report.Columns() {
			if c.Name == "calls" {
				calls += row[i].(int64)
			}
		}
	}
	if calls != out.Calls {
		return out, fmt.Errorf("snapshot %d has %d calls by SQL, and %d by the report", out.snapshot, out.Calls, calls)
	}
	return out, nil
}
