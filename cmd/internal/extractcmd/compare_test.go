package extractcmd

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"callhouse/cmd/internal/compare"
	"callhouse/cmd/internal/intake"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/resource/resourcetest"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// Reading the objects to compare ends when the command is interrupted.
func TestObjectsAreReadUntilInterrupted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 19, 2, 0, 0, 0, time.UTC)
	w, err := sink.Open(sink.Options{Root: filepath.Join(t.TempDir(), "w"), RunID: layout.RunID(now, 1), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	of := resource.Agents
	for n := range 3 {
		for kind, body := range map[schema.Kind][]byte{schema.KindItem: resourcetest.Item(of, n, 0), schema.KindDetail: resourcetest.Record(of, n, 0)} {
			if err := w.Put(t.Context(), schema.Record{Resource: of.Name, Kind: kind, CallID: resourcetest.Key(of, "", n), FetchedAt: now.UnixMilli(), Body: body}); err != nil {
				t.Fatal(err)
			}
		}
	}
	row := func(sink.Stats, int64) schema.Run {
		return schema.Run{ID: w.RunID(), StartedAt: now.UnixMilli(), Outcome: schema.OutcomeDone}
	}
	if err := w.Commit(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	l, err := compare.Listen(t.Context(), intake.New(w, time.Now), w.Snapshot(), now, compare.Everything, []*resource.Resource{of})
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]interface {
		EachObject(context.Context, *resource.Resource, func(*schema.Object) error) error
	}{"what is compared": l, "the warehouse": w} {
		ctx, cancel := context.WithCancel(t.Context())
		read := 0
		err := store.EachObject(ctx, of, func(*schema.Object) error {
			read++
			cancel()
			return nil
		})
		if read != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %d objects were read after an interrupt, error %v", name, read, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for key, err := range l.Incomplete(ctx, of, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%q is asked for after an interrupt, error %v", key, err)
		}
	}
}
