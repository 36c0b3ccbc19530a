// Package params learns which parameters of the list of calls a service accepts besides the
// contract's cursor and limit.
package params

import (
	"math"
	"slices"
	"sync"

	"callhouse/internal/api"
)

// Forever is later than any start_at; it stands for "no upper bound".
const Forever = math.MaxInt64

// Coarsest is the coarsest resolution of times that is assumed, in ms: a minute.
const Coarsest = 60_000

// After returns the first time at which no call can have started that is shown with this start. A
// service may show whole seconds or minutes, and compare with exact times. One start in a thousand
// is a whole second by chance: then a few calls are listed twice.
func After(start int64) int64 {
	for _, unit := range [...]int64{Coarsest, 1000, 100, 10} {
		if start%unit == 0 {
			return start + unit
		}
	}
	return start + 1
}

// Query are the parameters of a page.
type Query struct {
	Sorted bool  // send sort_order=desc
	After  int64 // only start_at over After; 0: no lower bound
	Before int64 // only start_at under Before; Forever: no upper bound
}

// Known is the state of knowledge about one parameter.
type Known uint8

const (
	Untried Known = iota
	Accepted
	Refused
)

// Filters records what the service accepts. It is safe for concurrent use.
type Filters struct {
	mu sync.Mutex
	Accepts
}

// Accepts is the current knowledge about each parameter.
type Accepts struct {
	Sort, After, Before Known
}

// Now returns the current knowledge.
func (fs *Filters) Now() Accepts {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.Accepts
}

// AnyRefused reports whether the service refused a parameter.
func (fs *Filters) AnyRefused() bool {
	now := fs.Now()
	return now.Sort == Refused || now.After == Refused || now.Before == Refused
}

// Apply removes the parameters from q that are known to be refused.
func (fs *Filters) Apply(q *Query) {
	now := fs.Now()
	now.drop(q)
}

func (fs *Accepts) drop(q *Query) {
	q.Sorted = q.Sorted && fs.Sort != Refused
	if fs.After == Refused {
		q.After = 0
	}
	if fs.Before == Refused {
		q.Before = Forever
	}
}

// Worked records that the service accepted a query.
func (fs *Filters) Worked(q *Query) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if q.Sorted {
		fs.Sort = Accepted
	}
	if q.After > 0 && fs.After == Untried {
		fs.After = Accepted
	}
	if q.Before != Forever && fs.Before == Untried {
		fs.Before = Accepted
	}
}

// Learn learns from a 400 to q. It reports whether to try again with fewer parameters.
func (fs *Filters) Learn(q *Query, f *api.RequestError) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	was := fs.Accepts
	drop := func(k *Known, used bool, name string) {
		if len(f.Allowed) > 0 {
			if !slices.Contains(f.Allowed, name) {
				*k = Refused
			}
		} else if used && *k == Untried {
			*k = Refused
		}
	}
	drop(&fs.Sort, q.Sorted, "sort_order")
	drop(&fs.After, q.After > 0, "start_at_after")
	drop(&fs.Before, q.Before != Forever, "start_at_before")
	left := *q
	fs.drop(&left)
	return left != *q && fs.Accepts != was
}
