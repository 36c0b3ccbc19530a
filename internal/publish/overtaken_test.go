package publish

import (
	"errors"
	"fmt"
	"testing"

	"callhouse/internal/publish/catalog"
	"callhouse/internal/publish/store"
)

// A publisher does not recreate the version after its base if others have published so many since
// that this version was removed again: nobody would ever read it.
func TestOvertakenByFar(t *testing.T) {
	h, to := newHouse(t), t.TempDir()
	h.night(call{"a", "x", 1, 1, 1})
	_, err := h.publish(to)
	h.must(err)
	s, root, err := store.Open(to)
	h.must(err)
	c := catalog.NewFiles(s, root)
	base, err := c.Load(t.Context(), "calls")
	h.must(err)
	set := func(to string) []catalog.Update {
		return []catalog.Update{{Action: "set-properties", Properties: map[string]string{"comment": to}}}
	}
	now := base
	for n := range catalog.KeptVersions + 5 {
		h.must(c.Commit(t.Context(), catalog.Change{Name: "calls", Base: now, Updates: set(fmt.Sprint(n))}))
		now, err = c.Load(t.Context(), "calls")
		h.must(err)
	}
	next := c.File("calls", base.Version+1)
	h.must(s.Remove(t.Context(), []string{c.File("calls", base.Version), next}))
	if err := c.Commit(t.Context(), catalog.Change{Name: "calls", Base: base, Updates: set("too late")}); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("the overtaken commit: %v", err)
	}
	if size, err := s.Size(t.Context(), next); err != nil || size >= 0 {
		t.Errorf("the removed version has %d bytes, %v", size, err)
	}
	if after, err := c.Load(t.Context(), "calls"); err != nil || after.Version != now.Version {
		t.Errorf("the table is at version %d, not %d: %v", after.Version, now.Version, err)
	}
}
