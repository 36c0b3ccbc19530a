package sink

import (
	"errors"
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/table"
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
	r := w.reader()
	for _, f := range slices.Backward(r.Files(schema.Calls.Name)) {
		t, err := r.Open(f)
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

func (k *Known) read(t *table.Reader) (err error) {
	err = t.Each([]string{"call_id", "agent_id"}, func(row []parquet.Value) {
		k.Calls[string(row[0].ByteArray())] = true
		if !row[1].IsNull() {
			k.Agents[string(row[1].ByteArray())] = true
		}
	})
	return errors.Join(err, t.Close())
}
