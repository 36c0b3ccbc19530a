package api

import (
	"testing"

	"pgregory.net/rapid"
)

// A window gives its slots back in their order, however many blocks they fill.
func TestWindowIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow(0, 0)
		var want []release
		for i, steps := int32(0), rapid.IntRange(1, 12).Draw(t, "steps"); steps > 0; steps-- {
			for range rapid.IntRange(0, 3*blockLen).Draw(t, "given") {
				i++
				w.held++
				w.give(instant(i), i)
				want = append(want, release{instant(i) + w.span, i})
			}
			for range rapid.IntRange(0, len(want)).Draw(t, "popped") {
				if got := w.pop(); got != want[0].slot {
					t.Fatalf("popped slot %d, want %d", got, want[0].slot)
				}
				want = want[1:]
			}
			if w.n != len(want) || w.held != len(want) {
				t.Fatalf("%d in the window and %d held, want %d", w.n, w.held, len(want))
			}
			for allowed := 1; allowed <= w.held; allowed += 1 + blockLen/3 {
				if at, ok := w.opens(allowed); !ok || at != want[w.held-allowed].at {
					t.Fatalf("opens(%d) = %v, %v, want %v", allowed, at, ok, want[w.held-allowed].at)
				}
			}
		}
	})
}
