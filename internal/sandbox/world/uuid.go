package world

import (
	"encoding/hex"

	"callhouse/internal/sandbox/dice"
)

// UUID is an identifier in the form of a random (version 4) UUID.
type UUID [16]byte

// String is the usual form: 36 characters, lower case.
func (u UUID) String() string { return string(u.Append(nil)) }

func (u UUID) Append(dst []byte) []byte {
	dst = hex.AppendEncode(dst, u[0:4])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, u[4:6])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, u[6:8])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, u[8:10])
	dst = append(dst, '-')
	return hex.AppendEncode(dst, u[10:16])
}

// parseUUID accepts exactly what String writes: an id is opaque to callers, so
// another spelling of the same number is another, unknown, id.
func parseUUID(s string) (UUID, bool) {
	var u UUID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return u, false
	}
	var digits [32]byte
	n := 0
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			continue
		}
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return u, false
		}
		digits[n] = c
		n++
	}
	if _, err := hex.Decode(u[:], digits[:]); err != nil {
		return u, false
	}
	return u, true
}

// newUUID packs 122 bits, 64 of body and 58 of tag, around the six fixed ones.
func newUUID(body, tag uint64) UUID {
	var u UUID
	hi := body&^0xf000 | 0x4000                    // version 4
	lo := tag&(1<<58-1) | body>>12&0xf<<58 | 1<<63 // variant 10, and the four bits displaced above
	for i := range 8 {
		u[i] = byte(hi >> (56 - 8*i))
		u[8+i] = byte(lo >> (56 - 8*i))
	}
	return u
}

// body is the inverse of newUUID's packing of its first argument.
func (u UUID) body() uint64 {
	var hi, lo uint64
	for i := range 8 {
		hi = hi<<8 | uint64(u[i])
		lo = lo<<8 | uint64(u[8+i])
	}
	return hi&^0xf000 | lo>>58&0xf<<12
}

// cipher is a keyed permutation of 64-bit numbers: a Feistel network of four
// rounds. It makes ids that look random and can be turned back into an index.
type cipher struct{ keys [4]uint64 }

func newCipher(key uint64) cipher {
	var c cipher
	for i := range c.keys {
		c.keys[i] = dice.Hash(key, uint64(i))
	}
	return c
}

func (c *cipher) encrypt(n uint64) uint64 {
	l, r := uint32(n>>32), uint32(n)
	for _, k := range c.keys {
		l, r = r, l^uint32(dice.Mix(k^uint64(r)))
	}
	return uint64(l)<<32 | uint64(r)
}

func (c *cipher) decrypt(n uint64) uint64 {
	l, r := uint32(n>>32), uint32(n)
	for i := len(c.keys) - 1; i >= 0; i-- {
		l, r = r^uint32(dice.Mix(c.keys[i]^uint64(l))), l
	}
	return uint64(l)<<32 | uint64(r)
}
