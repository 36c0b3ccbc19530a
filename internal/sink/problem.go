package sink

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Problem is one fault of a warehouse.
type Problem struct {
	Kind string `json:"kind"` // one word, such as "checksum"; see docs/design/warehouse.md
	Path string `json:"path"` // inside the warehouse
	What string `json:"what"`
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s", p.Path, p.What) }

// Limits on the problems listed in a report: in total, and of one kind in one file. The rest are
// only counted.
const (
	namedProblems = 100
	namedAlike    = 3
)

// Problems collects problems, from any goroutine.
type Problems struct {
	mu    sync.Mutex
	count int64
	named []Problem
	alike map[[2]string]int
}

// Add adds a problem of a kind in a file.
func (p *Problems) Add(kind, path, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	key := [2]string{kind, path}
	if p.alike == nil {
		p.alike = map[[2]string]int{}
	}
	if p.alike[key]++; p.alike[key] <= namedAlike {
		p.named = append(p.named, Problem{Kind: kind, Path: path, What: fmt.Sprintf(format, args...)})
	}
}

// List returns the problems to list, in the order of their places.
func (p *Problems) List() []Problem {
	slices.SortStableFunc(p.named, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return p.named[:min(len(p.named), namedProblems)]
}
