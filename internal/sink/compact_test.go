package sink

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
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

func mustFinish(t testing.TB, w *Warehouse) {
	t.Helper()
	test.OK(t, w.Finish(context.Background(), doneRow(w)))
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
	mustCommit(t, w)
	return w
}

func TestANightCompactsWhatIsOverAndSettled(t *testing.T) {
	w := monthsBefore(t, "2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11")
	before := readCalls(t, anywhere, w.Snapshot())
	// A new call for July keeps July uncompacted tonight.
	putCall(t, w, "late", time.Date(2026, 7, 7, 0, 0, 0, 0, time.UTC), 0)
	mustFinish(t, w)
	want := []string{"2026-06", "2026-07-05", "2026-07-06", "2026-07-07", "2026-08", "2026-09",
		"2026-10-05", "2026-10-06", "2026-11-05", "2026-11-06"}
	if got := periods(w.Snapshot()); !slices.Equal(got, want) {
		t.Errorf("after the first night: %v, want %v", got, want)
	}
	mustFinish(t, w)
	want = []string{"2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11-05", "2026-11-06"}
	if got := periods(w.Snapshot()); !slices.Equal(got, want) {
		t.Errorf("after the second night: %v, want %v", got, want)
	}
	after := readCalls(t, anywhere, w.Snapshot())
	for id, call := range before {
		if !calls.Same(call, after[id]) {
			t.Errorf("compaction changed call %s", id)
		}
	}
	if len(after) != len(before)+1 {
		t.Errorf("%d calls, want %d", len(after), len(before)+1)
	}
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
	mustCommit(t, w)
	after := names()
	if len(after) != 2 || after[0] != before[0] || after[1] == before[1] || !strings.Contains(after[1], "/2026-10.") {
		t.Errorf("the files were %v, and are %v", before, after)
	}
	if got := readCalls(t, anywhere, w.Snapshot())["2026-10-a-5"].Turns().Len(); got != 3 {
		t.Errorf("the changed call has %d turns, want 3", got)
	}
}

func TestCompactTellsWhyNot(t *testing.T) {
	w := monthsBefore(t, "2026-10", "2026-11")
	start := time.Date(2026, 9, 5, 0, 0, 0, 0, time.UTC)
	from := start.UnixMilli()
	rec := schema.Record{Kind: schema.KindItem, CallID: "due", FetchedAt: w.opts.Now().UnixMilli(),
		Body: body("due", &from, &from, "ended", "positive", -1)}
	test.OK(t, w.Put(context.Background(), rec))
	mustCommit(t, w)
	for month, want := range map[string]string{
		"2026-09": "compact 2026-09: 1 of its calls lack their transcript",
		"2026-11": "compact 2026-11: the month ended too recently",
		"2026-01": "compact 2026-01: the month has no daily files",
	} {
		if _, err := w.Compact(context.Background(), []string{month}, nil); err == nil || err.Error() != want {
			t.Errorf("Compact(%s) = %v, want %s", month, err, want)
		}
	}
	var told []snapshot.Progress
	done, err := w.Compact(context.Background(), []string{"2026-10"}, func(p snapshot.Progress) { told = append(told, p) })
	if err != nil || len(done) != 1 || done[0].Calls != 4 || done[0].Days != 2 {
		t.Errorf("Compact = %+v, %v", done, err)
	}
	if want := (snapshot.Progress{What: "2026-10", Done: 4, Total: 4}); len(told) != 1 || told[0] != want {
		t.Errorf("told %v, want once %v", told, want)
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
			var damaged *disk.DamageError
			if _, err := w.Compact(context.Background(), []string{"2026-10"}, nil); !errors.As(err, &damaged) {
				t.Errorf("Compact = %v, want a DamageError", err)
			}
			if got, want := periods(w.Snapshot()), []string{"2026-10-05", "2026-10-06"}; !slices.Equal(got, want) {
				t.Errorf("the files are of %v, want %v", got, want)
			}
		})
	}
}
