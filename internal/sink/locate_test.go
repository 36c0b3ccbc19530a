package sink

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"callhouse/internal/schema"
)

// The filters of a file say of nearly every foreign id that it is not there,
// and of every own one that it may be.
func TestFiltersPrune(t *testing.T) {
	w := night(t, Disk{}, filepath.Join(t.TempDir(), "w"), 0)
	start := testDay.UnixMilli()
	const calls = 3000
	var recs []schema.Record
	for i := range calls {
		id := fmt.Sprint("own-", i)
		recs = append(recs, schema.Record{Kind: schema.KindItem, CallID: id, FetchedAt: 1,
			Body: body(id, &start, &start, "ended", "positive", -1)})
	}
	if err := w.Put(context.Background(), recs...); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, w)
	file := w.Snapshot().Manifest.FilesOf(schema.Calls.Name)[0]
	may := func(id string) bool {
		c := &commit{fsys: Disk{}, old: w.Snapshot(), in: &intake{changes: map[string]*change{id: {id: id}}}}
		yes, err := c.mayHold(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	passed := 0
	for i := range calls {
		if !may(fmt.Sprint("own-", i)) {
			t.Fatalf("the filter denies own-%d", i)
		}
		if may(fmt.Sprint("foreign-", i)) {
			passed++
		}
	}
	if passed > calls/200 {
		t.Errorf("%d of %d foreign ids pass the filter", passed, calls)
	}
}
