package world

import "testing"

// BenchmarkCall measures computing a call's attributes, without its words.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, Config{Seed: 1, Calls: 1_000_000})
	var c Call
	for i := range b.N {
		w.Call(&c, int64(i%1_000_000))
	}
}

func BenchmarkTruth100k(b *testing.B) {
	w := newWorld(b, Config{Seed: 1, Calls: 100_000})
	for range b.N {
		w.Truth(busy)
	}
}
