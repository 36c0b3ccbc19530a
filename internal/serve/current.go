package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/layout"
)

// Current lends a warehouse at its current snapshot for one request, in any zone: what is
// committed appears by itself, and what was lent before stays whole until it is given
// back. For sessions, which come back to a snapshot, there is [Houses]. It may be used by
// several goroutines at once.
//
// A superseded snapshot stays on the disk for a day at least. Whatever is lent must be
// given back within that time.
type Current struct {
	root    string
	options analytics.Options

	mu     sync.Mutex
	link   string           // what current points at
	houses map[string]*lent // at that snapshot, by zone
}

// lent is an open warehouse and how many use it.
type lent struct {
	*analytics.Warehouse
	users int
	gone  bool // it is to be closed once nobody uses it
}

// MostZones is how many zones a snapshot is kept open in while nobody asks in them.
const MostZones = 4

// NewCurrent returns the lender of the warehouse at root. The location in o is not used.
func NewCurrent(root string, o analytics.Options) *Current {
	return &Current{root: root, options: o, houses: map[string]*lent{}}
}

// Borrow returns the warehouse at its current snapshot, in a zone. Whoever calls it calls
// giveBack when the last answer was read. Errors are those of [analytics.Open].
func (c *Current) Borrow(ctx context.Context, loc *time.Location) (w *analytics.Warehouse, giveBack func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Where the link cannot be read, Open says why.
	if link, err := os.Readlink(filepath.Join(c.root, layout.CurrentName)); err != nil || link != c.link {
		if err := c.drop(len(c.houses)); err != nil {
			return nil, nil, err
		}
		c.link = link
	}
	h := c.houses[loc.String()]
	if h == nil {
		if err := c.drop(len(c.houses) - MostZones + 1); err != nil {
			return nil, nil, err
		}
		o := c.options
		o.Location = loc
		w, err := analytics.Open(ctx, c.root, o)
		if err != nil {
			return nil, nil, err
		}
		h = &lent{Warehouse: w}
		c.houses[loc.String()] = h
	}
	h.users++
	return h.Warehouse, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if h.users--; h.users == 0 && h.gone {
			_ = h.Close() // its answers were read
		}
	}), nil
}

// drop forgets n of the warehouses. Those that are in use are closed when they are given
// back.
func (c *Current) drop(n int) (err error) {
	for zone, h := range c.houses {
		if n--; n < 0 {
			break
		}
		delete(c.houses, zone)
		if h.gone = true; h.users == 0 {
			err = errors.Join(err, h.Close())
		}
	}
	return err
}

// Close closes what nobody uses. Nothing can be borrowed after it.
func (c *Current) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop(len(c.houses))
}
