package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

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
	r, err := openTable(anywhere, path, &schema.Calls)
	test.OK(t, err)
	defer r.Close()
	var ids idFilter
	ids.Add("any")
	var damage *layout.DamageError
	if _, err := ids.Narrow(r); !errors.As(err, &damage) {
		t.Errorf("asked, it answers %v", err)
	}
}

// Every call is found with all its rows, wherever it is; a missing call is not.
func TestFind(t *testing.T) {
	root := sound(t)
	s, err := layout.Current(root)
	test.OK(t, err)
	for id, want := range readCalls(t, anywhere, s) {
		got, err := Find(context.Background(), s, id)
		if err != nil || got == nil {
			t.Fatalf("call %s: %v, %v", id, got, err)
		}
		test.Same(t, string(want.AppendJSON(nil)), string(got.AppendJSON(nil)), "call %s", id)
	}
	if got, err := Find(context.Background(), s, "nobody"); got != nil || err != nil {
		t.Errorf("nobody: %v, %v", got, err)
	}
}

// A call with more turns than a row group is found completely.
func TestFindOverRowGroups(t *testing.T) {
	longtest.Only(t)
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	const turns = rowGroupRows + 1000
	test.OK(t, w.Put(context.Background(), storyRecord("a", 5), storyRecord("b", turns), storyRecord("c", 5)))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	got, err := Find(context.Background(), w.Snapshot(), "b")
	if err != nil || got == nil || got.Turns().Len() != turns {
		t.Fatalf("%v, %v", got, err)
	}
	if !calls.Same(got, readCalls(t, anywhere, w.Snapshot())["b"]) {
		t.Error("the call is not what it is")
	}
}

// Unsettled calls are found by their places, across days, and nearby ones are one place.
func TestUnsettledPlaces(t *testing.T) {
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	begin := testDay.Add(-3 * 24 * time.Hour).UnixMilli()
	const minute = int64(60_000)
	start := func(i int64) int64 { return begin + i*10*minute }
	var recs []schema.Record
	for i := range int64(400) { // ten minutes apart: not quite three days
		sentiment := "neutral"
		if i == 5 || i == 100 || i == 109 || i == 300 || i == 390 {
			sentiment = ""
		}
		at, end := start(i), start(i)+minute
		recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: fmt.Sprint(i), FetchedAt: testDay.UnixMilli(),
			Body: bytes.Replace(body(fmt.Sprint(i), &at, &end, "ended", sentiment, -1), []byte(`"call_cost":null`), []byte(`"call_cost":{"total_cost":"1.00"}`), 1)})
	}
	test.OK(t, w.Put(context.Background(), recs...))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	got, err := w.Unsettled(context.Background(), start(6), start(390), 10)
	want := []calls.Place{
		{From: start(300), To: start(300) + 1, Calls: 1},
		{From: start(100), To: start(109) + 1, Calls: 10},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, err = w.Unsettled(context.Background(), 0, start(400), 8); len(got) != 5 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	now := testDay.Add(calls.ExpireAfter)
	if w.opts.Now = func() time.Time { return now }; err == nil {
		got, err = w.Unsettled(context.Background(), 0, start(400), 8)
	}
	if len(got) != 0 || err != nil {
		t.Errorf("expired: %v, %v", got, err)
	}
}

// A file linked by an earlier commit of the same run is compared with its checksum before it is
// rewritten, like any other.
func TestLinkedFilesAreProven(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	put := func(w *Warehouse, id string, version int) {
		t.Helper()
		test.OK(t, w.Put(context.Background(), storyRecord(id, version)))
	}
	w := night(t, nil, root, 0)
	put(w, "a", 1)
	put(w, "b", 1)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	test.OK(t, w.Close())
	d := damageTo(t, root)
	d.bytes(d.s.Path(d.file("calls", yesterday)), func(b []byte) []byte { b[len(b)/3] ^= 4; return b })
	w = night(t, nil, root, 1)
	put(w, "a", 2)
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	put(w, "b", 2)
	var damage *layout.DamageError
	if err := w.Commit(context.Background(), doneRow(w)); !errors.As(err, &damage) || damage.What != "its checksum is not the one in the manifest" {
		t.Errorf("the commit that rewrites a damaged file gave %v", err)
	}
}

// Lines are read whole, in pieces of any size. After one that is too long, nothing is read.
func TestEachLine(t *testing.T) {
	giant := io.LimitReader(endless{}, maxLine+1)
	var got []string
	err := eachLine(t.Context(), "d", io.MultiReader(iotest.OneByteReader(strings.NewReader("one\n\nthree\r\n \nfive\n")), giant),
		func(n int64, line []byte) error {
			got = append(got, fmt.Sprintf("%d %s", n, line))
			return nil
		})
	if want := "1 one|3 three|5 five"; strings.Join(got, "|") != want || err == nil || !strings.Contains(err.Error(), "line 6 has") {
		t.Errorf("%q, want %q; %v", got, want, err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
