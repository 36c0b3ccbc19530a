package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

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
	mustCommit(t, w)
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

// Abandoned operations stay in the snapshot until they work again, or a later run abandons them
// again.
func TestRestsAreKept(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "w")
	rest := schema.Rest{Of: "agents"}
	for run, times := range []int{1, 2, 0, 1} {
		w := night(t, nil, root, run+1)
		now := w.opts.Now().UnixMilli()
		if got := w.Resting("agents"); got != rest || w.Resting("tools") != (schema.Rest{Of: "tools"}) {
			t.Errorf("run %d: it is %+v, want %+v", run, got, rest)
		}
		put := rest.Again(now, time.Hour, "429")
		if times == 0 {
			put = schema.Rest{Of: "agents", At: now}
		}
		body, err := json.Marshal(put)
		test.OK(t, err)
		test.OK(t, w.Put(context.Background(), schema.Record{Kind: schema.KindRest, FetchedAt: now, Body: body}))
		mustCommit(t, w)
		test.OK(t, w.Close())
		if rest = put; times == 0 {
			rest = schema.Rest{Of: "agents"}
		}
		if rest.Times != times {
			t.Errorf("run %d: given up %d times, want %d", run, rest.Times, times)
		}
	}
}
