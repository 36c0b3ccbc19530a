package world

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"callhouse/internal/sandbox/dice"
)

// UUID is an identifier in the form of a random (version 4) UUID.
type UUID [16]byte

// String returns the usual form: 36 characters, lower case.
func (u UUID) String() string { return string(u.Append(nil)) }

// Append writes the usual form.
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

// ParseUUID accepts exactly the output of String: ids are opaque, so another spelling is another,
// unknown, id.
func ParseUUID(s string) (u UUID, ok bool) {
	digits := strings.ReplaceAll(s, "-", "")
	if len(digits) != 2*len(u) {
		return u, false
	}
	_, err := hex.Decode(u[:], []byte(digits))
	return u, err == nil && u.String() == s
}

// NewUUID makes an identifier from a scrambled number.
func NewUUID(h uint64) UUID { return newUUID(h, dice.Mix(h)) }

// newUUID packs 122 bits, 64 of body and 58 of tag, around the six fixed ones.
func newUUID(body, tag uint64) UUID {
	var u UUID
	hi := body&^0xf000 | 0x4000                    // version 4
	lo := tag&(1<<58-1) | body>>12&0xf<<58 | 1<<63 // variant 10, and the four bits displaced above
	binary.BigEndian.PutUint64(u[:8], hi)
	binary.BigEndian.PutUint64(u[8:], lo)
	return u
}

// body returns the first argument of newUUID.
func (u UUID) body() uint64 {
	hi, lo := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	return hi&^0xf000 | lo>>58&0xf<<12
}

// cipher is a keyed permutation of 64-bit numbers: a Feistel network of four rounds. It makes ids
// that look random and can be converted back to an index.
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
