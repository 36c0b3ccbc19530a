package publish

import (
	"errors"
	"fmt"
	"testing"

	"callhouse/internal/publish/store"
)

// A publisher that others have overtaken by so many versions that the one after its base was
// removed again does not create that version once more: nobody would ever read it.
func TestOvertakenByFar(t *testing.T) {
	h, to := newHouse(t), t.TempDir()
	h.night(call{"a", "x", 1, 1, 1})
	_, err := h.publish(to)
	h.must(err)
	s, root, err := store.Open(to)
	h.must(err)
	c := &files{s, root}
	base, err := c.load(t.Context(), "calls")
	h.must(err)
	set := func(to string) []update {
		return []update{{Action: "set-properties", Properties: map[string]string{"comment": to}}}
	}
	now := base
	for n := range keptVersions + 5 {
		h.must(c.commit(t.Context(), change{"calls", now, set(fmt.Sprint(n))}))
		now, err = c.load(t.Context(), "calls")
		h.must(err)
	}
	next := c.version("calls", base.version+1)
	h.must(s.Remove(t.Context(), []string{c.version("calls", base.version), next}))
	if err := c.commit(t.Context(), change{"calls", base, set("too late")}); !errors.Is(err, errConflict) {
		t.Errorf("the overtaken commit: %v", err)
	}
	if size, err := s.Size(t.Context(), next); err != nil || size >= 0 {
		t.Errorf("the removed version has %d bytes, %v", size, err)
	}
	if after, err := c.load(t.Context(), "calls"); err != nil || after.version != now.version {
		t.Errorf("the table is at version %d, not %d: %v", after.version, now.version, err)
	}
}
