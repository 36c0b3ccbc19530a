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

// filters records the parameters that the service refuses or ignores. It is safe for concurrent use.
type filters struct {
	mu sync.Mutex
	refused
}

// refused are the parameters that the service refuses.
type refused struct{ Sort, After, Before bool }

// now returns the current knowledge.
func (fs *filters) now() refused {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.refused
}

// without returns q without the refused parameters.
func (r refused) without(q bounds) bounds {
	q.Sorted = q.Sorted && !r.Sort
	if r.After {
		q.After = 0
	}
	if r.Before {
		q.Before = forever
	}
	return q
}

// learn learns from a 400 to the first page of a list, which may name the parameters that the service
// allows. It reports whether to try again with fewer parameters.
func (fs *filters) learn(q bounds, f *api.RequestError) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	named := slices.Contains(f.Allowed, "cursor") // then this holds for parameters that were not sent, too
	lacks := func(name string, sent bool) bool { return (named || sent) && !slices.Contains(f.Allowed, name) }
	fs.Sort = fs.Sort || lacks("sort_order", q.Sorted)
	fs.After = fs.After || lacks("start_at_after", q.After > 0)
	fs.Before = fs.Before || lacks("start_at_before", q.Before != forever)
	return fs.without(q) != q
}

// dropBefore records that upper bounds have no effect. Runs then do as if the service refused them.
func (fs *filters) dropBefore() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.Before = true
}
