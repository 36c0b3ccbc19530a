package organisation

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// TestWritesAreTakenInOneByOne writes to objects in random order. The resulting lists and their
// foreseen changes are the same as when recomputed.
func TestWritesAreTakenInOneByOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.UnixMilli(world.Epoch).Add(90 * 24 * time.Hour)
		w, err := world.New(world.Config{Seed: rapid.Uint64().Draw(rt, "seed"), Calls: 20, Agents: 3, Origin: now, Campaigns: -1})
		test.OK(rt, err)
		o, err := New(Config{Sizes: Sizes{"long_prompts": 0}}, w)
		test.OK(rt, err)
		all := func() (seen []any) {
			for _, name := range []string{"agents", "agent_versions", "knowledges", "knowledge_documents", "tools", "campaigns"} {
				later := now.Add(20 * 24 * time.Hour)
				seen = append(seen, o.Truth(name, now), o.Truth(name, later), o.Edits(name, now.Add(-time.Hour), later))
			}
			return seen
		}
		all()
		for n := range rapid.IntRange(1, 8).Draw(rt, "writes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(rt, "hours")) * time.Hour)
			r := Named(rapid.SampledFrom([]string{"agents", "knowledges", "knowledge_documents", "tools", "campaigns"}).Draw(rt,
				"resource"))
			there := o.Truth(r.Name, now)
			if slices.Contains([]string{"agents", "campaigns"}, r.Name) && (len(there) == 0 || rapid.Bool().Draw(rt, "create")) {
				id := fmt.Sprint("made ", n)
				err = o.Apply(Write{At: now.UnixMilli(), Do: Created, Resource: r.Name, ID: id,
					Fields: Object{"id": id, "name": id, "n": int64(0), "agent": Object{}}})
			} else if len(there) > 0 {
				one := rapid.SampledFrom(there).Draw(rt, "object")
				switch rapid.IntRange(0, 3).Draw(rt, "what") {
				case 0:
					err = o.Delete(now, r.Name, one.Parent, one.ID)
				case 1:
					if r.Parent == "" {
						o.Foresee(r.Name, one.ID, []Event{{At: now.Add(time.Hour).UnixMilli(), Add: map[string]int64{"n": 1}}})
					}
				default:
					err = o.Edit(now, r.Name, one.Parent, one.ID, Object{"name": fmt.Sprint("edit ", n)})
				}
			}
			test.OK(rt, err)
		}
		got := all()
		clear(o.histories)
		if want := all(); !reflect.DeepEqual(want, got) {
			rt.Fatal(cmp.Diff(want, got))
		}
	})
}

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
				if lives[r.Name] == nil {
					t.Fatalf("no function computes %s", r.Name)
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
