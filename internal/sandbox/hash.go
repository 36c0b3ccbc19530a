package sandbox

import "math/bits"

// golden is 2^64 divided by the golden ratio, the usual step of a Weyl sequence.
const golden = 0x9e3779b97f4a7c15

// mix scrambles x so that each bit of the result depends on every bit of x.
// It is a bijection.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return x
}

// hash combines a key and a number into a scrambled number.
func hash(key, n uint64) uint64 { return mix(key ^ mix(n+golden)) }

// unit maps a scrambled number onto [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// pick maps a scrambled number onto 0..n-1.
func pick(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// dice is a sequence of draws, fixed by its seed.
type dice struct{ state uint64 }

func newDice(seed uint64) dice { return dice{seed} }

func (d *dice) next() uint64 {
	d.state += golden
	return mix(d.state)
}

// unit draws from [0, 1).
func (d *dice) unit() float64 { return unit(d.next()) }

// below draws from 0..n-1.
func (d *dice) below(n int) int { return pick(d.next(), n) }

// chance is true with probability p. It always spends exactly one draw.
func (d *dice) chance(p float64) bool { return d.unit() < p }

// between draws a whole number from lo..hi.
func (d *dice) between(lo, hi int64) int64 { return lo + int64(d.below(int(hi-lo)+1)) }
