package sink

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// A call loses its start in a run days after it was first seen.
func TestStartTakenBackLater(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	start := testDay.AddDate(0, 0, -9).UnixMilli()
	for n, body := range []string{
		`{"id":"c","status":"ongoing","start_at":` + strconv.FormatInt(start, 10) + `}`,
		`{"id":"c","status":"ended","start_at":null}`,
	} {
		w := night(t, nil, root, n)
		at := testDay.AddDate(0, 0, 3*n-7).UnixMilli()
		test.OK(t, w.Put(context.Background(), schema.Record{Kind: schema.KindItem, CallID: "c", FetchedAt: at, Body: []byte(body)}))
		mustCommit(t, w)
		test.OK(t, w.Close())
		wholeOn(t, anywhere, root)
	}
}
