package crawler

import "hash/maphash"

// lately remembers the most recent keys, at least size of them and at most
// twice as many, with a number each. It keeps hashes, so it is small whatever
// the keys; two of 2^16 keys are taken for one by a chance of 1 in 2^33.
type lately struct {
	seed  maphash.Seed
	size  int
	young map[uint64]uint64
	old   map[uint64]uint64
}

func newLately(size int) *lately {
	l := &lately{seed: maphash.MakeSeed(), size: size}
	l.clear()
	return l
}

func (l *lately) clear() { l.young, l.old = make(map[uint64]uint64), nil }

func (l *lately) get(key string) (v uint64, ok bool) {
	h := maphash.String(l.seed, key)
	if v, ok = l.young[h]; !ok {
		v, ok = l.old[h]
	}
	return v, ok
}

func (l *lately) put(key string, v uint64) {
	if len(l.young) >= l.size {
		l.young, l.old = make(map[uint64]uint64, l.size), l.young
	}
	l.young[maphash.String(l.seed, key)] = v
}

// add puts a key, and says whether it was new.
func (l *lately) add(key string, v uint64) bool {
	_, known := l.get(key)
	l.put(key, v)
	return !known
}
