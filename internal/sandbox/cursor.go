package sandbox

import (
	"encoding/base64"
	"encoding/binary"

	"callhouse/internal/sandbox/dice"
)

// cursor is a position in a list. To clients it is opaque: 43 characters that
// say nothing and cannot be made up.
type cursor struct {
	position int64 // the index of the last item, or with offset paging how many came before
	issued   int64 // unix ms by the data's clock
}

// seal writes a cursor for a list. A cursor is good for the list that it comes
// from alone, so the list's fingerprint is part of its signature.
func (c cursor) seal(key, list uint64) string {
	var b [32]byte
	sign := dice.Hash(dice.Hash(dice.Hash(key, uint64(c.position)), uint64(c.issued)), list)
	binary.BigEndian.PutUint64(b[0:], sign)
	binary.BigEndian.PutUint64(b[8:], uint64(c.position)^dice.Hash(key, sign))
	binary.BigEndian.PutUint64(b[16:], uint64(c.issued)^dice.Hash(key, sign+1))
	binary.BigEndian.PutUint64(b[24:], dice.Hash(key, sign+2))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

var notOfThisList = refuse("cursor is not valid for this list")

// openCursor reads what seal wrote, if it is still good at t.
func (o *Options) openCursor(text string, key, list uint64, t int64) (c cursor, _ *refusal) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 32 {
		return c, notOfThisList
	}
	sign := binary.BigEndian.Uint64(b)
	c.position = int64(binary.BigEndian.Uint64(b[8:]) ^ dice.Hash(key, sign))
	c.issued = int64(binary.BigEndian.Uint64(b[16:]) ^ dice.Hash(key, sign+1))
	switch {
	case c.seal(key, list) != text:
		return c, notOfThisList
	case o.CursorTTL > 0 && t-c.issued > o.CursorTTL.Milliseconds():
		return c, refuse("cursor has expired")
	}
	return c, nil
}
