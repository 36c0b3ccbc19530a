package crawler

import (
	"math"
	"slices"
	"sync"

	"callhouse/internal/api"
)

// forever is later than any start_at; it stands for "no upper bound".
const forever = math.MaxInt64

// coarsest is the coarsest resolution of times that is assumed, in ms: a minute.
const coarsest = 60_000

// after returns the first time at which no call can have started that is shown with this start. A
// service may show whole seconds or minutes, and compare with exact times. One start in a thousand
// is a whole second by chance: then a few calls are listed twice.
func after(start int64) int64 {
	for _, unit := range [...]int64{coarsest, 1000, 100, 10} {
		if start%unit == 0 {
			return start + unit
		}
	}
	return start + 1
}

// bounds are the parameters of a page.
type bounds struct {
	Sorted bool  // send sort_order=desc
	After  int64 // only start_at over After; 0: no lower bound
	Before int64 // only start_at under Before; forever: no upper bound
}

// known is the state of knowledge about one parameter.
type known uint8

const (
	untried known = iota
	accepted
	refused
)

// filters records what the service accepts. It is safe for concurrent use.
type filters struct {
	mu sync.Mutex
	accepts
}

// accepts is the current knowledge about each parameter.
type accepts struct {
	Sort, After, Before known
}

// now returns the current knowledge.
func (fs *filters) now() accepts {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.accepts
}

// drop removes the parameters from q that are known to be refused.
func (fs accepts) drop(q *bounds) {
	q.Sorted = q.Sorted && fs.Sort != refused
	if fs.After == refused {
		q.After = 0
	}
	if fs.Before == refused {
		q.Before = forever
	}
}

// worked records that the service accepted a query.
func (fs *filters) worked(q *bounds) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if q.Sorted {
		fs.Sort = accepted
	}
	if q.After > 0 && fs.After == untried {
		fs.After = accepted
	}
	if q.Before != forever && fs.Before == untried {
		fs.Before = accepted
	}
}

// learn learns from a 400 to q. It reports whether to try again with fewer parameters.
func (fs *filters) learn(q *bounds, f *api.RequestError) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	was := fs.accepts
	drop := func(k *known, used bool, name string) {
		if len(f.Allowed) > 0 {
			if !slices.Contains(f.Allowed, name) {
				*k = refused
			}
		} else if used && *k == untried {
			*k = refused
		}
	}
	drop(&fs.Sort, q.Sorted, "sort_order")
	drop(&fs.After, q.After > 0, "start_at_after")
	drop(&fs.Before, q.Before != forever, "start_at_before")
	left := *q
	fs.drop(&left)
	return left != *q && fs.accepts != was
}
