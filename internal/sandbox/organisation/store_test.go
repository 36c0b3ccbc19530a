package organisation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// TestEveryResourceIsComplete compares the files that declare resources with the functions that
// compute them. An empty organisation has only the service's defaults.
func TestEveryResourceIsComplete(t *testing.T) {
	now := time.UnixMilli(world.Epoch).Add(90 * 24 * time.Hour)
	for _, agents := range []int{-1, 3} {
		w, err := world.New(world.Config{Calls: max(int64(agents), 0), Agents: agents, Origin: now})
		test.OK(t, err)
		for _, sizes := range []Sizes{None(), Small()} {
			o, err := New(Config{Sizes: sizes}, w)
			test.OK(t, err)
			for _, r := range All() {
				if (lives[r.Name] == nil) == (r.Draw == nil) && r.Name != "tools" {
					t.Fatalf("%s has a function and rules, or neither", r.Name)
				}
				n, given := len(o.Truth(r.Name, now)), r.Sizes[r.Name].None > 0
				if agents < 0 && sizes["drafts"] == 0 && n > 0 != given {
					t.Errorf("%d %s without anything; given to everyone: %v", n, r.Name, given)
				} else if agents > 0 && sizes["drafts"] > 0 && n == 0 {
					t.Errorf("a small organisation has no %s", r.Name)
				}
			}
		}
	}
	for name := range lives {
		if !slices.Contains(All(), Named(name)) {
			t.Error(name)
		}
	}
	for _, r := range All() {
		for name, size := range r.Sizes {
			if size.Small == 0 || size.Large < size.Small {
				t.Errorf("a large organisation has %d %s, a small one %d", size.Large, name, size.Small)
			}
		}
	}
}

// TestContract compares a resource's declared source with its paths in the contract.
func TestContract(t *testing.T) {
	for _, r := range All() {
		test.Same(t, len(r.Contract) > 0, strings.HasPrefix(r.From, "contract"), "%s: from %q, in the contract %v", r.Name, r.From, r.Contract)
		for _, path := range r.Contract {
			if path != "list" && path != "item" || path == "list" && r.List == "" || path == "item" && r.Item == "" {
				t.Errorf("%s has no %s", r.Name, path)
			}
		}
	}
}
