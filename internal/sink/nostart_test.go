package sink

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// A record without a start leaves the call in its period and order; one with null removes the
// start. A call without any start is kept.
func TestRecordWithoutAStart(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "w")
	day := testDay.AddDate(0, 0, -3)
	put := func(n int, bodies map[string]string) {
		t.Helper()
		w := night(t, nil, root, n)
		for id, body := range bodies {
			test.OK(t, w.Put(context.Background(), schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: testDay.UnixMilli() + int64(n), Body: []byte(body)}))
		}
		mustCommit(t, w)
		test.OK(t, w.Close())
		wholeOn(t, anywhere, root)
	}
	first := map[string]string{}
	for i := range 6 {
		at := day.AddDate(0, 0, -i%2).UnixMilli() + int64(i)
		first[fmt.Sprint("c", i)] = fmt.Sprintf(`{"id":"c%d","status":"ended","start_at":%d,"end_at":%d}`, i, at, at+1000)
	}
	put(0, first)
	put(1, map[string]string{
		"c1": `{"id":"c1","status":"ended","call_type":"phone"}`,
		"c2": `{"call_id":"c2","call_type":"phone","agent_id":"g"}`,
		"c3": `{"id":"c3","status":"ended","start_at":null}`,
		"c4": `{"id":"c4","status":"ended","start_at":null,"start_timestamp":null}`,
		"n5": `{"id":"n5","status":"ended"}`,
	})
	w := night(t, nil, root, 2)
	all := readCalls(t, anywhere, w.Snapshot())
	for id, has := range map[string]bool{"c0": true, "c1": true, "c2": true, "c3": false, "c4": false, "c5": true, "n5": false} {
		switch call := all[id]; {
		case call == nil:
			t.Errorf("%s is not there", id)
		case call.StartAt().OK != has:
			t.Errorf("%s: start %v", id, call.StartAt())
		}
	}
	if string(all["c1"].Text("call_type")) != "phone" || string(all["c2"].Text("call_type")) != "phone" {
		t.Error("what the record carries was not taken in")
	}
}
