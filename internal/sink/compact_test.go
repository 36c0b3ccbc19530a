package sink

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// detail returns the detail of a call that started at the given time and ended a second later.
func detail(w *Warehouse, id string, start time.Time, turns int) schema.Record {
	from := start.UnixMilli()
	to := from + 1000
	return schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: w.opts.Now().UnixMilli(),
		Body: body(id, &from, &to, "ended", "positive", turns)}
}

// putCall puts the detail of a call.
func putCall(t testing.TB, w *Warehouse, id string, start time.Time, turns int) {
	t.Helper()
	test.OK(t, w.Put(context.Background(), detail(w, id, start, turns)))
}

// periods returns the periods of a snapshot's files of calls.
func periods(s *layout.Snapshot) (out []string) {
	for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
		out = append(out, f.Period)
	}
	return out
}

// monthsBefore opens a warehouse with two calls on each of two days of each of
// the given months, two of them without a turn.
func monthsBefore(t *testing.T, months ...string) *Warehouse {
	t.Helper()
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	for _, m := range months {
		for day := 5; day <= 6; day++ {
			start, err := time.Parse(time.DateOnly, fmt.Sprintf("%s-%02d", m, day))
			test.OK(t, err)
			putCall(t, w, fmt.Sprint(m, "-a-", day), start, 0)
			putCall(t, w, fmt.Sprint(m, "-b-", day), start.Add(time.Hour), 2)
		}
	}
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	return w
}

func TestANightCompactsWhatIsOverAndSettled(t *testing.T) {
	w := monthsBefore(t, "2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11")
	before := readCalls(t, anywhere, w.Snapshot())
	// A new call for July keeps July uncompacted tonight.
	putCall(t, w, "late", time.Date(2026, 7, 7, 0, 0, 0, 0, time.UTC), 0)
	test.OK(t, w.Finish(context.Background(), doneRow(w)))
	want := []string{"2026-06", "2026-07-05", "2026-07-06", "2026-07-07", "2026-08", "2026-09",
		"2026-10-05", "2026-10-06", "2026-11-05", "2026-11-06"}
	test.Same(t, want, periods(w.Snapshot()), "after the first night")
	test.OK(t, w.Finish(context.Background(), doneRow(w)))
	want = []string{"2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11-05", "2026-11-06"}
	test.Same(t, want, periods(w.Snapshot()), "after the second night")
	after := readCalls(t, anywhere, w.Snapshot())
	for id, call := range before {
		if !calls.Same(call, after[id]) {
			t.Errorf("compaction changed call %s", id)
		}
	}
	test.Same(t, len(before)+1, len(after), "calls")
}

// An interrupt prevents a run's compaction, but not its last commit.
func TestAnInterruptedNightCommits(t *testing.T) {
	w := monthsBefore(t, "2026-09")
	putCall(t, w, "late", testDay, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	test.OK(t, w.Finish(ctx, doneRow(w)))
	if got, want := periods(w.Snapshot()), []string{"2026-09-05", "2026-09-06", today}; !slices.Equal(got, want) {
		t.Errorf("the files are of %v, want %v", got, want)
	}
}

// A change to a compacted month, or a new call in it, rewrites its file and no other.
func TestACompactedMonthTakesChanges(t *testing.T) {
	w := monthsBefore(t, "2026-09", "2026-10")
	_, err := w.Compact(context.Background(), []string{"2026-09", "2026-10"}, nil)
	test.OK(t, err)
	names := func() (out []string) {
		for _, f := range w.Snapshot().Manifest.FilesOf(schema.Calls.Name) {
			out = append(out, f.Path)
		}
		return out
	}
	before := names()
	putCall(t, w, "2026-10-a-5", time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC), 3)
	putCall(t, w, "new", time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC), 0)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	after := names()
	if len(after) != 2 || after[0] != before[0] || after[1] == before[1] || !strings.Contains(after[1], "/2026-10.") {
		t.Errorf("the files were %v, and are %v", before, after)
	}
	if got := readCalls(t, anywhere, w.Snapshot())["2026-10-a-5"].Turns().Len(); got != 3 {
		t.Errorf("the changed call has %d turns, want 3", got)
	}
}

func TestCompactReportsWhyNot(t *testing.T) {
	w := monthsBefore(t, "2026-10", "2026-11")
	start := time.Date(2026, 9, 5, 0, 0, 0, 0, time.UTC)
	from := start.UnixMilli()
	rec := schema.Record{Kind: schema.KindItem, CallID: "due", FetchedAt: w.opts.Now().UnixMilli(),
		Body: body("due", &from, &from, "ended", "positive", -1)}
	test.OK(t, w.Put(context.Background(), rec))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	for month, want := range map[string]string{
		"2026-09": "compact 2026-09: 1 of its calls lack their transcript",
		"2026-11": "compact 2026-11: the month ended too recently",
		"2026-01": "compact 2026-01: the month has no daily files",
	} {
		if _, err := w.Compact(context.Background(), []string{month}, nil); err == nil || err.Error() != want {
			t.Errorf("Compact(%s) = %v, want %s", month, err, want)
		}
	}
	var reported []Progress
	done, err := w.Compact(context.Background(), []string{"2026-10"}, func(p Progress) { reported = append(reported, p) })
	if err != nil || len(done) != 1 || done[0].Calls != 4 || done[0].Days != 2 {
		t.Errorf("Compact = %+v, %v", done, err)
	}
	if want := (Progress{What: "2026-10", Done: 4, Total: 4}); len(reported) != 1 || reported[0] != want {
		t.Errorf("told %v, want once %v", reported, want)
	}
}

// Each table is joined only with the keys of the calls, and a row without a call is still found.
func TestCompactionLosesNoRow(t *testing.T) {
	for table, columns := range map[string]*schema.Table{"transcript_turns": &schema.Turns, "analysis_items": &schema.Items} {
		t.Run(table, func(t *testing.T) {
			w := monthsBefore(t, "2026-10")
			root := w.opts.Root
			test.OK(t, w.Close())
			d := damageTo(t, root)
			d.rows(d.file(table, "2026-10-05"), columns, func(rows []parquet.Row) []parquet.Row {
				rows[len(rows)-1][columns.Column("call_id")] = parquet.ByteArrayValue([]byte("nobody")).Level(0, 0, columns.Column("call_id"))
				return rows
			})
			w = night(t, nil, root, 1)
			var damaged *layout.DamageError
			if _, err := w.Compact(context.Background(), []string{"2026-10"}, nil); !errors.As(err, &damaged) {
				t.Errorf("Compact = %v, want a DamageError", err)
			}
			if got, want := periods(w.Snapshot()), []string{"2026-10-05", "2026-10-06"}; !slices.Equal(got, want) {
				t.Errorf("the files are of %v, want %v", got, want)
			}
		})
	}
}

// A long run commits in the background: by count, and by time if few records come. Slow commits are
// rare: they take at most one percent of the run.
func TestCheckpoints(t *testing.T) {
	for _, tc := range longtest.Some(6, []struct {
		name        string
		records     int           // in half a minute
		takes       time.Duration // per commit
		least, most int64         // commits per hour
	}{
		{"at the service's limits", 58, 0, 11, 14},
		{"little comes", 1, 0, 10, 12},
		{"nothing comes", 0, 0, 0, 0},
		{"a very large warehouse", 58, 20 * time.Second, 2, 2},
		{"a large one", 58, 3 * time.Second, 8, 12},
		{"more than may wait", 300, 20 * time.Second, 3, 4},
	}) {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)
			w := timed(t, filepath.Join(t.TempDir(), "w"), &now, nil)
			w.Schedule(func(Stats, int64) schema.Run {
				now = now.Add(tc.takes) // nothing else reads the clock
				return schema.Run{ID: w.RunID(), Outcome: schema.OutcomeRunning}
			}, func() bool { return false })
			begin, n := now, 0
			for ; now.Sub(begin) < time.Hour; now = now.Add(30 * time.Second) {
				var recs []schema.Record
				for range tc.records {
					n++
					id := fmt.Sprint(n)
					recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: now.UnixMilli(),
						Body: fmt.Appendf(nil, `{"id":%q,"status":"ended","start_at":%d}`, id, now.UnixMilli()+int64(n))})
				}
				test.OK(t, w.Put(context.Background(), recs...))
				test.OK(t, w.Checkpoint(context.Background(), false))
				test.OK(t, w.Settle())
			}
			if _, commits := w.Totals(); commits < tc.least || commits > tc.most {
				t.Errorf("%d commits, want %d to %d", commits, tc.least, tc.most)
			}
		})
	}
}

// timed opens a warehouse at the time now.
func timed(t *testing.T, root string, now *time.Time, follow *disk.Follow) *Warehouse {
	t.Helper()
	w, err := Open(Options{Root: root, RunID: layout.RunID(*now, 1), Now: func() time.Time { return *now }, Follow: follow})
	test.OK(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// A process that follows the service commits once a minute, counted from the last commit of an
// earlier process, and less often if its commits are large.
func TestRested(t *testing.T) {
	longtest.Only(t)
	now := time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)
	root := filepath.Join(t.TempDir(), "w")
	open := func() *Warehouse {
		w := timed(t, root, &now, new(disk.Follow))
		w.Schedule(func(Stats, int64) schema.Run { return schema.Run{ID: w.RunID(), Outcome: schema.OutcomeFollowing} },
			func() bool { return false })
		return w
	}
	w := open()
	if w.MayCommit() {
		t.Error("a commit at once")
	}
	source := rand.NewChaCha8([32]byte{})
	put := func(n, size int) {
		t.Helper()
		text := make([]byte, size)
		_, _ = source.Read(text)
		id := fmt.Sprint(n)
		body := fmt.Sprintf(`{"id":%q,"start_at":%d,"call_analysis":{"summary":%q}}`, id, now.UnixMilli(), hex.EncodeToString(text))
		test.OK(t, w.Put(t.Context(), schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: now.UnixMilli(), Body: []byte(body)}))
	}
	put(0, 10)
	test.OK(t, w.Checkpoint(t.Context(), true))
	test.OK(t, w.Close())
	if now, w = now.Add(time.Minute), open(); !w.MayCommit() {
		t.Error("an earlier process committed a minute ago")
	}
	put(0, 20)
	test.OK(t, w.Checkpoint(t.Context(), true))
	put(1, 8<<20/3)
	put(2, 8<<20/3)
	if now = now.Add(59 * time.Second); w.MayCommit() {
		t.Error("two commits within a minute")
	}
	if now = now.Add(time.Second); !w.MayCommit() {
		t.Error("it rests longer than a minute")
	}
	test.OK(t, w.Checkpoint(t.Context(), true))
	var bytes int64
	for _, f := range w.Snapshot().Manifest.Files {
		bytes += f.Bytes
	}
	least := time.Duration(bytes/(64<<10)) * time.Second // all files were rewritten
	if least < 70*time.Second {
		t.Errorf("only %d bytes were written", bytes)
	}
	if now = now.Add(least - time.Second); w.MayCommit() {
		t.Errorf("it writes faster than it may")
	}
	if now = now.Add(3 * time.Second); !w.MayCommit() {
		t.Error("it rests for ever")
	}
}
