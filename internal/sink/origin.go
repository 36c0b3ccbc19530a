package sink

import (
	"errors"
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Belong makes commits say whose calls the warehouse holds.
func (w *Warehouse) Belong(o layout.Origin) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.origin = &o
}

// Known are calls and agents that a warehouse knows.
type Known struct{ Calls, Agents map[string]bool }

// knownRows is about how many of the newest calls tell an organisation by its
// calls and agents.
const knownRows = 10_000

// Newest returns the ids of the newest calls and of their agents.
func (w *Warehouse) Newest() (*Known, error) {
	k := &Known{map[string]bool{}, map[string]bool{}}
	s := w.Snapshot()
	if s == nil {
		return k, nil
	}
	for _, f := range slices.Backward(s.Manifest.FilesOf(schema.Calls.Name)) {
		t, err := w.proofs.open(w.opts.FS, s, f)
		if err == nil {
			err = k.read(t)
		}
		if err != nil {
			return nil, err
		}
		if len(k.Calls) >= knownRows {
			break
		}
	}
	return k, nil
}

func (k *Known) read(t *tableReader) (err error) {
	defer func() { err = errors.Join(err, t.close()) }()
	for _, g := range t.groups {
		err := eachRow(g, []int{t.id, column(t.columns, "agent_id")}, func(_ int64, row []parquet.Value) bool {
			k.Calls[string(row[0].ByteArray())] = true
			if !row[1].IsNull() {
				k.Agents[string(row[1].ByteArray())] = true
			}
			return true
		})
		if err != nil {
			return &DamageError{Path: t.path, What: err.Error()}
		}
	}
	return nil
}
