package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/table"
	"callhouse/internal/test"
)

// The filters of a file exclude nearly every foreign id and no own one.
func TestFiltersPrune(t *testing.T) {
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	start := testDay.UnixMilli()
	const calls = 3000
	var recs []schema.Record
	for i := range calls {
		id := fmt.Sprint("own-", i)
		recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: 1,
			Body: body(id, &start, &start, "ended", "positive", -1)})
	}
	test.OK(t, w.Put(context.Background(), recs...))
	mustCommit(t, w)
	file := w.Snapshot().Manifest.FilesOf(schema.Calls.Name)[0]
	r, err := table.Open(anywhere, w.Snapshot().Path(file), &schema.Calls)
	test.OK(t, err)
	defer r.Close()
	filter := r.Groups[0].ColumnChunks()[r.Column("call_id")].BloomFilter()
	passed := 0
	for i := range calls {
		if may, err := filter.Check(parquet.ByteArrayValue([]byte(fmt.Sprint("own-", i)))); err != nil || !may {
			t.Fatalf("the filter denies own-%d (%v)", i, err)
		}
		for j := range 20 {
			if may, err := filter.Check(parquet.ByteArrayValue([]byte(fmt.Sprint("foreign-", i, "-", j)))); err != nil {
				t.Fatal(err)
			} else if may {
				passed++
			}
		}
	}
	if passed > 6 {
		t.Errorf("%d of %d foreign ids pass the filter", passed, 20*calls)
	}
}

// An empty filter is damage: it cannot be queried.
func TestAnEmptyFilterIsDamage(t *testing.T) {
	w := monthsBefore(t, "2026-06")
	file := w.Snapshot().Manifest.FilesOf(schema.Calls.Name)[0]
	path := w.Snapshot().Path(file)
	raw := test.Read(t, path)
	p, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	test.OK(t, err)
	at := p.Metadata().RowGroups[0].Columns[schema.Calls.Column("call_id")].MetaData.BloomFilterOffset
	if raw[at] != 0x15 || raw[at+1] >= 0x80 { // the first field, an i32: the size as a one-byte varint
		t.Fatalf("the filter's header begins with % x", raw[at:at+2])
	}
	raw[at+1] = 0
	test.OK(t, os.WriteFile(path, raw, 0o600))
	r, err := table.Open(anywhere, path, &schema.Calls)
	test.OK(t, err)
	defer r.Close()
	var ids table.IDs
	ids.Add("any")
	var damage *disk.DamageError
	if _, err := ids.MayBeIn(r, r.Groups[0]); !errors.As(err, &damage) {
		t.Errorf("asked, it answers %v", err)
	}
}

// A call that moves from an unusual place is found there, and leaves it.
func TestACallIsFoundAnywhere(t *testing.T) {
	w := monthsBefore(t, "2026-06", "2026-07", "2026-08")
	if _, err := w.Compact(context.Background(), []string{"2026-06"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"2026-06-a-5", "2026-07-b-6"} {
		putCall(t, w, id, testDay, 1)
	}
	mustCommit(t, w)
	calls := readCalls(t, anywhere, w.Snapshot())
	for _, id := range []string{"2026-06-a-5", "2026-07-b-6"} {
		if call := calls[id]; call == nil || call.StartAt().V != testDay.UnixMilli() {
			t.Errorf("call %s did not move", id)
		}
	}
	if len(calls) != 12 {
		t.Errorf("%d calls, want 12", len(calls))
	}
}
