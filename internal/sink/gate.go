package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// gate keeps calls of another organisation out of the warehouse. The service's answers do not
// identify the organisation. So if the address or the key is not that of the last run, the first
// items of the list must contain a call or an agent known to the warehouse.
type gate struct {
	mu     sync.Mutex
	closed bool
	now    layout.Origin
	before *layout.Origin  // nil: the warehouse has none
	known  map[string]bool // ids of calls and agents; nil: not read yet
}

// From sets the service and the key from which Put receives records. With adopt, calls of any
// organisation are accepted. known reports whether the calls so far came from this service.
func (w *Warehouse) From(service, key string, adopt bool) (known bool) {
	sum := sha256.Sum256([]byte("callhouse: which key is this?" + key))
	now := layout.Origin{Service: strings.TrimSuffix(strings.TrimRight(service, "/"), "/v3"), Key: hex.EncodeToString(sum[:8])}
	w.gate.now = now
	if s := w.Snapshot(); s != nil {
		w.gate.before = s.Manifest.Origin
		w.gate.closed = !adopt && (s.Manifest.Origin == nil || *s.Manifest.Origin != now) && s.Manifest.Rows(schema.Calls.Name) > 0
	}
	if !w.gate.closed {
		w.belong(now)
	}
	return w.gate.before != nil && w.gate.before.Service == now.Service
}

// belong sets the origin of the calls for the following commits.
func (w *Warehouse) belong(o layout.Origin) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamp.Origin = &o
}

// admit returns an error if clean records belong to another organisation.
func (w *Warehouse) admit(recs []schema.Record) error {
	g := &w.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		return nil
	}
	if g.known == nil {
		known, err := w.known()
		if err != nil {
			return err
		}
		g.known = known
	}
	items := false
	for i := range recs {
		switch {
		case recs[i].Resource != "":
		case recs[i].Kind == schema.KindItem:
			items = true
			g.closed = g.closed && !g.knows(recs[i].Body)
		case recs[i].Kind == schema.KindDetail:
			g.closed = false // requested by its id
		}
	}
	switch {
	case !g.closed:
		w.belong(g.now)
	case items || g.before != nil:
		return g.refuse()
	}
	return nil // an empty list does not indicate another organisation
}

func (g *gate) knows(body []byte) bool {
	var d calls.Decoder
	var c calls.Call
	return d.Decode(body, schema.KindItem, &c) == nil && (g.known[string(c.ID())] || g.known[string(c.Text("agent_id"))])
}

// knownRows is the approximate number of newest calls whose ids and agents identify an organisation.
const knownRows = 10_000

// known returns the ids of the newest calls and of their agents.
func (w *Warehouse) known() (map[string]bool, error) {
	ids := map[string]bool{}
	return ids, w.reader().newest(knownRows, func(t *tableReader) error {
		return t.Each([]string{"call_id", "agent_id"}, func(row []parquet.Value) {
			ids[string(row[0].ByteArray())] = true
			if !row[1].IsNull() {
				ids[string(row[1].ByteArray())] = true
			}
		})
	})
}

// ForeignError reports calls of another organisation, which were not stored.
type ForeignError struct{ what string }

func (e *ForeignError) Error() string { return e.what }

func (g *gate) refuse() error {
	what := "the service lists no call and no agent of the warehouse: it is another organisation's; nothing was stored"
	switch {
	case g.before == nil:
	case g.before.Service != g.now.Service:
		what = fmt.Sprintf("the address changed from %s to %s, and %s", g.before.Service, g.now.Service, what)
	default:
		what = "the API key has changed, and " + what
	}
	return &ForeignError{what}
}
