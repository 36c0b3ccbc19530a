package serve_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/serve"
	"callhouse/internal/test"
)

// countCalls counts the calls of a warehouse that was lent.
func countCalls(ctx context.Context, w *analytics.Warehouse) (int64, error) {
	rows, err := w.SQL(ctx, "SELECT count(*) FROM calls")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	if err != nil {
		return 0, err
	}
	return row[0].(int64), nil
}

// A borrower after a commit gets the new snapshot; one borrowed earlier stays complete until it is
// returned, and no longer.
func TestBorrow(t *testing.T) {
	root := t.TempDir()
	some := func(n int) (d analyticstest.Data) {
		for i := range n {
			d.Calls = append(d.Calls, analyticstest.Row{"call_id": string(rune('a' + i)), "start_at": int64(1_700_000_000_000)})
		}
		return d
	}
	analyticstest.Write(t, root, 1, some(2))
	// DuckDB has a folder for each open one
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	areOpen := func(want int) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			folders, err := os.ReadDir(temp)
			test.OK(t, err)
			if len(folders) == want {
				return
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("%d are open, want %d", len(folders), want)
			}
		}
	}
	c := &serve.Snapshots{Root: root, Open: func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, root, analytics.Options{Options: database.Options{Location: zone, Rights: r}})
	}}
	borrow := func(zone *time.Location, want int64) (*analytics.Warehouse, func()) {
		t.Helper()
		at, release, err := c.Acquire(t.Context(), zone, rights.Rights{})
		test.OK(t, err)
		if want > 0 { // counting makes all definitions
			if n, err := countCalls(t.Context(), at.Warehouse); n != want || err != nil {
				t.Errorf("%d calls, %v; want %d", n, err, want)
			}
		}
		return at.Warehouse, release
	}
	old, release := borrow(time.UTC, 2)
	again, releaseToo := borrow(time.UTC, 2)
	if again != old {
		t.Error("the same snapshot is opened twice")
	}
	analyticstest.Write(t, root, 2, some(5))
	current, releaseNew := borrow(time.UTC, 5)
	release()
	release() // a second time it does nothing
	if n, err := countCalls(t.Context(), old); n != 2 || err != nil {
		t.Errorf("the snapshot before has %d calls while it is lent: %v", n, err)
	}
	areOpen(2)
	releaseToo()
	areOpen(1)
	releaseNew()
	for hours := range serve.MaxViews + 2 { // the least recently used ones are closed
		_, release := borrow(time.FixedZone("Etc/GMT-"+strconv.Itoa(hours+1), (hours+1)*3600), 0)
		release()
		w, release := borrow(time.UTC, 5)
		release()
		if w != current {
			t.Error("what everybody asks for is opened anew")
		}
	}
	areOpen(serve.MaxViews)
	last, releaseLast := borrow(time.UTC, 5)
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	for {
		_, release, err := c.Acquire(t.Context(), time.UTC, rights.Rights{})
		if err != nil {
			break // Close has begun
		}
		release()
	}
	if n, err := countCalls(t.Context(), last); n != 5 || err != nil {
		t.Errorf("the snapshot has %d calls while everything is being closed: %v", n, err)
	}
	select {
	case err := <-closed:
		t.Errorf("closed while a snapshot was lent: %v", err)
	default:
		releaseLast()
		test.OK(t, <-closed)
	}
	areOpen(0)
}

// While a view is being opened, only those who need it wait, and it is opened once for all of them.
func TestOpeningKeepsNobodyElseWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, opened, goOn := time.FixedZone("slow", 3600), map[string]int{}, make(chan bool)
		c := &serve.Snapshots{Root: t.TempDir(), Open: func(_ context.Context, zone *time.Location, _ rights.Rights) (*analytics.Warehouse, error) {
			if opened[zone.String()]++; zone == slow {
				<-goOn
			}
			return nil, errors.New("opened " + zone.String())
		}}
		answers := make(chan string, 100)
		acquire := func(ctx context.Context, zone *time.Location) {
			_, _, err := c.Acquire(ctx, zone, rights.Rights{})
			answers <- err.Error()
		}
		left, leave := context.WithCancelCause(t.Context())
		go acquire(left, slow)
		for range 3 {
			go acquire(t.Context(), slow)
		}
		synctest.Wait()
		leave(errors.New("left"))
		first := <-answers
		acquire(t.Context(), time.UTC)
		if second := <-answers; first != "left" || second != "opened UTC" {
			t.Errorf("meanwhile others get %q and %q", first, second)
		}
		close(goOn)
		for range 3 {
			if got := <-answers; got != "opened slow" || opened["slow"] != 1 {
				t.Errorf("got %q, opened %d times", got, opened["slow"])
			}
		}
		test.OK(t, c.Close())
	})
}
