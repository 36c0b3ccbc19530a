package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/calls"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// OriginOf identifies a service and a key.
func OriginOf(cfg *crawler.Config) layout.Origin {
	sum := sha256.Sum256([]byte("callhouse: which key is this?" + string(cfg.Key)))
	return layout.Origin{Service: strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v3"), Key: hex.EncodeToString(sum[:8])}
}

// Gate keeps calls of another organisation out of the warehouse. The service's answers do not
// identify the organisation. So if the address or the key is not that of the last run, the first
// items of the list must contain a call or an agent known to the warehouse.
type Gate struct {
	house  *sink.Warehouse
	now    layout.Origin
	before *layout.Origin // nil: the warehouse predates origins

	mu    sync.Mutex
	open  bool
	known *sink.Known // nil: not read yet
}

// NewGate returns the gate of a warehouse for a service and a key. With adopt it accepts any calls.
func NewGate(w *sink.Warehouse, now layout.Origin, adopt bool) *Gate {
	g := &Gate{house: w, now: now, open: true}
	if s := w.Snapshot(); s != nil {
		g.before = s.Manifest.Origin
		g.open = adopt || g.before != nil && *g.before == now || s.Manifest.Rows(schema.Calls.Name) == 0
	}
	if g.open {
		w.Belong(now)
	}
	return g
}

// admit returns an error if records, already cleaned, belong to another organisation. A nil gate
// accepts everything.
func (g *Gate) admit(recs []schema.Record) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return nil
	}
	if g.known == nil {
		var err error
		if g.known, err = g.house.Newest(); err != nil {
			return err
		}
	}
	items := false
	for i := range recs {
		if recs[i].Resource != "" {
			continue
		}
		switch recs[i].Kind {
		case schema.KindItem:
			items = true
			g.open = g.open || g.knows(recs[i].Body)
		case schema.KindDetail:
			g.open = true // requested by its id
		}
	}
	switch {
	case g.open:
		g.house.Belong(g.now)
	case items || g.before != nil:
		return g.refuse()
	}
	return nil // an empty list does not indicate another organisation
}

func (g *Gate) knows(body []byte) bool {
	var d calls.Decoder
	var c calls.Call
	if d.Decode(body, schema.KindItem, &c) != nil {
		return false
	}
	agent := c.Text("agent_id")
	return g.known.Calls[string(c.ID())] || agent != nil && g.known.Agents[string(agent)]
}

// ForeignError reports calls of another organisation, which were not stored.
type ForeignError struct{ what string }

func (e *ForeignError) Error() string { return e.what }

func (g *Gate) refuse() error {
	what := "the service lists no call and no agent of the warehouse: it is another organisation's"
	switch {
	case g.before == nil:
	case g.before.Service != g.now.Service:
		what = fmt.Sprintf("the address changed from %s to %s, and %s", g.before.Service, g.now.Service, what)
	default:
		what = "the API key has changed, and " + what
	}
	return cli.Fail(cli.ExitFailed, &ForeignError{what},
		"nothing was stored; check --base-url, the key and --warehouse. If these calls belong here: extract run --adopt")
}
