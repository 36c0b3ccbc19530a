//go:build bench

package sink

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/schema"
	"callhouse/internal/sink/commit"
	"callhouse/internal/sink/snapshot"
)

var (
	nightSizes = flag.String("nights", "", "measure a night's commit into warehouses of so many calls, as in 100000,1000000 (make bench-night)")
	nightDir   = flag.String("night-dir", "", "keep the warehouses here, and use them again")
	nightSide  = flag.String("night-side", "", "internal: the warehouse that this process commits a night into")
)

const (
	nightCalls  = 5000   // new or changed per night
	callsADay   = 27_400 // 10 million a year
	nightRounds = 3
	nightPut    = 50 // records per sync
)

var nightNow = time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)

// nightWorld returns the calls of this process's warehouse.
func nightWorld(t *testing.T) *world.World {
	t.Helper()
	if *nightSide == "" {
		t.Skip("TestNightIsFlat runs it")
	}
	calls, err := strconv.ParseInt(*nightSizes, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.New(world.Config{Seed: 1, Calls: calls, Days: max(1, int(calls/callsADay)), Origin: nightNow})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestNightIsFlat shows that a night costs what it changes, whatever the size of the warehouse: it
// commits the same number of calls, half new and half changed, into warehouses of different sizes,
// each in its own process.
func TestNightIsFlat(t *testing.T) {
	if *nightSizes == "" || *nightSide != "" {
		t.Skip("make bench-night runs it")
	}
	t.Logf("%12s %8s %8s %10s %8s %8s", "calls", "wall s", "CPU s", "peak MB", "written", "linked")
	for text := range strings.SplitSeq(*nightSizes, ",") {
		calls, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		root := nightWarehouse(t, calls)
		var best side
		var did string
		for range nightRounds {
			now, said := measured(t, nightProcess(t, "TestNightSide", calls, root))
			if best.wall == 0 || now.cpu < best.cpu {
				best = now
				_, did, _ = strings.Cut(said, "did ")
				did, _, _ = strings.Cut(did, "\n")
			}
		}
		t.Logf("%12d %8.2f %8.2f %10d %s", calls, best.wall.Seconds(), best.cpu.Seconds(), best.peak>>10, did)
		if *nightDir == "" {
			if err := os.RemoveAll(root); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// nightWarehouse returns a warehouse of so many calls, made if necessary.
func nightWarehouse(t *testing.T, calls int64) string {
	t.Helper()
	if *nightDir == "" {
		root := filepath.Join(t.TempDir(), "w")
		makeNights(t, root, calls)
		return root
	}
	root := filepath.Join(*nightDir, fmt.Sprint("nights-", calls))
	if _, err := os.Stat(root); err == nil {
		return root
	}
	making := root + ".making"
	if err := os.RemoveAll(making); err != nil {
		t.Fatal(err)
	}
	makeNights(t, making, calls)
	if err := os.Rename(making, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// nightProcess returns a test of this program as a separate process.
func nightProcess(t *testing.T, test string, calls int64, root string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$", "-test.v", "-test.timeout", "6h",
		"-nights", strconv.FormatInt(calls, 10), "-night-side", root)
	cmd.Env = append(os.Environ(), "GOGC=50")
	return cmd
}

// makeNights makes a warehouse in another process: otherwise its memory would count for the nights,
// which are forked from this one.
func makeNights(t *testing.T, root string, calls int64) {
	t.Helper()
	measured(t, nightProcess(t, "TestNightBuild", calls, root))
}

// TestNightBuild makes a warehouse with compacted months, as after years of nights, in a separate
// process.
func TestNightBuild(t *testing.T) {
	world := nightWorld(t)
	w, err := Open(Options{Root: *nightSide, RunID: layout.RunID(nightNow, 1), Workers: 2, Now: func() time.Time { return nightNow }})
	if err != nil {
		t.Fatal(err)
	}
	from, to := io.Pipe()
	go func() {
		_, err := writeDetails(to, world, nightNow)
		to.CloseWithError(err)
	}()
	i := w.NewImport(doneRow(w), func(a commit.AsideError) { t.Error(a.Error()) })
	if err := i.Add(t.Context(), &commit.Dump{Name: "calls", Lines: from, AsOf: nightNow.UnixMilli(), Kind: schema.KindDetail}, nil); err != nil {
		t.Fatal(err)
	}
	if err := i.Finish(t.Context(), doneRow(w)); err != nil {
		t.Fatal(err)
	}
	var months []string
	for _, m := range snapshot.Months(w.Snapshot(), nightNow) {
		if m.Waits == "" {
			months = append(months, m.Month)
		}
	}
	if _, err := w.Compact(context.Background(), months, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNightSide is one night, in a separate process.
func TestNightSide(t *testing.T) {
	world := nightWorld(t)
	now := nightNow.Add(time.Hour)
	salt := fmt.Sprint(time.Now().UnixNano() % 1e8)
	w, err := Open(Options{Root: *nightSide, RunID: layout.RunID(now, uint32(time.Now().UnixNano())), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	var r render.Renderer
	var recs []schema.Record
	n := 0
	for v := range world.Visible(nightNow) {
		id, body := v.ID.String(), r.Detail(nil, v)
		if n%2 == 0 {
			body = bytes.Replace(body, []byte(`"variant_label":null`), []byte(`"variant_label":"`+salt+`"`), 1)
		} else {
			other := fmt.Sprintf("%08s", salt)[:8] + id[8:]
			body = bytes.ReplaceAll(body, []byte(id), []byte(other))
			id = other
		}
		recs = append(recs, schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: now.UnixMilli(), Body: body})
		if n++; n%nightPut == 0 {
			if err := w.Put(context.Background(), recs...); err != nil {
				t.Fatal(err)
			}
			recs = recs[:0]
		}
		if n == nightCalls {
			break
		}
	}
	mustFinish(t, w)
	did, _ := w.Totals()
	t.Logf("did %8d %8d  (%d new, %d changed)", did.Written, did.Linked, did.New, did.Changed)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
