package sink

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/sink/verify"
	"callhouse/internal/test"
)

// Implausible data from the service is stored and reported, but is not damage.
func TestVerifyTellsWhatIsOdd(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	w := night(t, nil, root, 0)
	at := testDay.UnixMilli()
	for id, rest := range map[string]string{
		"plain":    fmt.Sprintf(`"status":"ended","end_at":%d`, at+1),
		"reversed": fmt.Sprintf(`"status":"ended","end_at":%d`, at-1),
		"new word": fmt.Sprintf(`"status":"levitated","end_at":%d`, at+1),
	} {
		body := fmt.Sprintf(`{"id":%q,"start_at":%d,"call_type":"web",%s}`, id, at, rest)
		rec := schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: at, Body: []byte(body)}
		test.OK(t, w.Put(context.Background(), rec))
	}
	mustCommit(t, w)
	test.OK(t, w.Close())
	r, err := verify.Warehouse(context.Background(), verify.Options{Root: root})
	test.OK(t, err)
	want := []string{
		"calls with a status unknown to this version, stored as sent: 1",
	}
	if !r.Whole() || !slices.Equal(r.Notes, want) {
		t.Errorf("whole %v, notes %q, want %q", r.Whole(), r.Notes, want)
	}
}
