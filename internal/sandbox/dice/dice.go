// Package dice draws reproducible numbers from a seed.
package dice

import "math/bits"

// golden is 2^64 divided by the golden ratio, the usual step of a Weyl sequence.
const golden = 0x9e3779b97f4a7c15

// Mix scrambles x: each bit of the result depends on every bit of x. It is a bijection.
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return x
}

// Hash combines a key and a number into a scrambled number.
func Hash(key, n uint64) uint64 { return Mix(key ^ Mix(n+golden)) }

// Text combines a key and the bytes of a text.
func Text(key uint64, text string) uint64 {
	for i := range len(text) {
		key = Hash(key, uint64(text[i]))
	}
	return key
}

// Unit maps a scrambled number onto [0, 1).
func Unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// Pick maps a scrambled number onto 0..n-1.
func Pick(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// Dice is a sequence of draws determined by its seed.
type Dice struct{ state uint64 }

// New returns the dice of a seed.
func New(seed uint64) Dice { return Dice{seed} }

// Next draws a scrambled number.
func (d *Dice) Next() uint64 {
	d.state += golden
	return Mix(d.state)
}

// Unit draws from [0, 1).
func (d *Dice) Unit() float64 { return Unit(d.Next()) }

// Below draws from 0..n-1.
func (d *Dice) Below(n int) int { return Pick(d.Next(), n) }

// Chance is true with probability p. It always uses one draw.
func (d *Dice) Chance(p float64) bool { return d.Unit() < p }

// Between draws a whole number from lo..hi.
func (d *Dice) Between(lo, hi int64) int64 { return lo + int64(d.Below(int(hi-lo)+1)) }
