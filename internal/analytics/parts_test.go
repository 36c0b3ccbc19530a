package analytics_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/plan"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
)

// A list of many calls is read in parts, and equals the list read at once.
func TestListsInParts(t *testing.T) {
	root, d := compacted(t, rand.Uint64N(1000), 200, "2026-10")
	analyticstest.Edit(t, filepath.Join(root, "snapshots", "000001", "manifest.json"), func(m *layout.Manifest) {
		for i := range m.Files {
			if m.Files[i].Table == schema.Calls.Name {
				m.Files[i].Rows *= 20_000
			}
		}
	})
	w := open(t, root, zone(t, "America/New_York"))
	planner := plan.New(w.Snapshot(), w.Location(), rights.Rights{}, false, "")
	tried, n := longtest.Each(4), 0
	for _, p := range []question.Params{{}, {Since: time.Date(2026, 10, 25, 5, 0, 0, 1, time.UTC)},
		{Since: time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC), Agent: "a1-one"},
		{Where: []string{"month=2026-10"}}, {Where: []string{"month=2026-10", "month="}}} {
		for _, name := range []string{"calls", "search"} {
			if n++; !tried(n) {
				continue
			}
			p.Words = []string{"e"}
			f, err := question.Report(name)
			if err != nil {
				t.Fatal(err)
			}
			q, err := question.Of(f, p)
			if parts := planner.Parts(q); err != nil || len(parts) < 2 {
				t.Fatalf("%s, %+v: %d parts: %v", name, p, len(parts), err)
			}
			rows, err := w.Report(t.Context(), name, p)
			got := all(t, rows, err)
			if d := diff(oracle(name, d, p, w.Location()), got); d != "" {
				t.Errorf("%s, %+v (-oracle +report):\n%s", name, p, d)
			}
			if rows, err = w.Report(t.Context(), name, p); err != nil {
				t.Fatal(err)
			}
			if _, err = rows.Next(t.Context()); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			left := len(got) - min(len(got), 1)
			for {
				more, err := rows.Skip(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if left -= more; more == 0 {
					break
				}
			}
			if rows.Close(); left != 0 {
				t.Errorf("%s, %+v: Skip left %d rows", name, p, left)
			}
		}
	}
	for _, p := range []question.Params{{Most: 5}, {Skip: 1}, {Sort: "start_at:asc"}, {Top: 3}} {
		f, _ := question.Report("calls")
		if q, err := question.Of(f, p); err != nil || planner.Parts(q) != nil {
			t.Errorf("%+v is read in parts, %v", p, err)
		}
	}
}
