package crawler

import "time"

// window is one limit: so many requests in so long a time.
type window struct {
	span  time.Duration
	limit int
	held  int       // slots held: in flight, or answered less than span ago
	ring  []release // answered ones, in the order in which they will be free
	first int
	n     int
}

type release struct {
	at   instant
	slot int32
}

// margin is added to a window of the given length, against clocks that tick
// unlike ours: two milliseconds for a service that counts in whole ones, and
// 500 millionths, the fastest that a system slews its clock.
func margin(window time.Duration) time.Duration { return 2*time.Millisecond + window/2000 }

// firstRing is how many answered requests a window has room for at first: a
// service without limits to speak of has a million slots, which are never all
// held.
const firstRing = 1 << 10

func newWindow(span time.Duration, limit int) window {
	return window{span: span + margin(span), limit: limit, ring: make([]release, min(limit+1, firstRing))}
}

// give says that the request which holds slot was answered at at.
func (w *window) give(at instant, slot int32) {
	if w.n == len(w.ring) {
		w.ring = append(w.ring[w.first:], w.ring[:w.first]...)
		w.ring = append(w.ring, make([]release, w.n)...)
		w.first = 0
	}
	w.ring[(w.first+w.n)%len(w.ring)] = release{at + w.span, slot}
	w.n++
}

func (w *window) pop() int32 {
	slot := w.ring[w.first].slot
	w.first = (w.first + 1) % len(w.ring)
	w.n--
	w.held--
	return slot
}

// opens says when fewer than allowed slots will be held.
func (w *window) opens(allowed int) (at instant, known bool) {
	k := w.held - allowed // so many, and one more, must come free
	if k < 0 {
		return 0, true
	}
	if k >= w.n {
		return 0, false
	}
	return w.ring[(w.first+k)%len(w.ring)].at, true
}
