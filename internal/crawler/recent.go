package crawler

import "hash/maphash"

// recent remembers the last keys put into it, at least recentSize of them, each with a number. It
// stores hashes, so it is small for keys of any length; the chance that two of 2^16 keys are
// confused is 1 in 2^33.
type recent struct {
	Seed     maphash.Seed
	new, old map[uint64]uint64
}

const recentSize = 1 << 15

// newRecent returns an empty recent.
func newRecent() *recent { return &recent{Seed: maphash.MakeSeed(), new: map[uint64]uint64{}} }

// Put remembers a key, and returns its previous value.
func (r *recent) Put(key string, v uint64) (was uint64, known bool) {
	h := maphash.String(r.Seed, key)
	if was, known = r.new[h]; !known {
		was, known = r.old[h]
	}
	if len(r.new) >= recentSize {
		r.new, r.old = make(map[uint64]uint64, recentSize), r.new
	}
	r.new[h] = v
	return was, known
}
