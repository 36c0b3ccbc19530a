package api

import "time"

// window is one limit: so many requests in so long a time.
type window struct {
	span  time.Duration
	limit int
	held  int // slots held: in flight, or answered less than span ago
	// Answered ones, in the order in which they will be free, n of them from first
	// on. Blocks that are used up go to the end.
	blocks []*[blockLen]release
	first  int
	n      int
}

// blockLen is how many answered requests a window makes room for at a time: a
// service without limits to speak of has a million slots, which are never all
// held.
const blockLen = 512

type release struct {
	at   instant
	slot int32
}

// margin is added to a window of the given length, against clocks that tick
// unlike ours: two milliseconds for a service that counts in whole ones, and
// 500 millionths, the fastest that a system slews its clock.
func margin(window time.Duration) time.Duration { return 2*time.Millisecond + window/2000 }

func newWindow(span time.Duration, limit int) window {
	return window{span: span + margin(span), limit: limit}
}

// at returns the i-th answered request.
func (w *window) at(i int) *release {
	i += w.first
	return &w.blocks[i/blockLen][i%blockLen]
}

// give says that the request which holds slot was answered at at.
func (w *window) give(at instant, slot int32) {
	if w.first+w.n == len(w.blocks)*blockLen {
		w.blocks = append(w.blocks, new([blockLen]release))
	}
	w.n++
	*w.at(w.n - 1) = release{at + w.span, slot}
}

func (w *window) pop() int32 {
	slot := w.at(0).slot
	if w.first++; w.first == blockLen {
		used := w.blocks[0]
		w.blocks = append(append(w.blocks[:0], w.blocks[1:]...), used)
		w.first = 0
	}
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
	return w.at(k).at, true
}
