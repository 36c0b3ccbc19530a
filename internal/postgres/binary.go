package postgres

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"callhouse/internal/analytics/value"
)

// epoch is Postgres' epoch: 2000-01-01.
const (
	epochDays   = 10_957
	epochMicros = epochDays * 86_400 * 1_000_000
)

var be = binary.BigEndian

// AppendBinary appends a value in the binary form of its type. It fails if the type cannot hold the
// value.
func (t Type) AppendBinary(dst []byte, v *value.Value, loc *time.Location) ([]byte, error) {
	switch {
	case t.OID == TextType.OID, t.OID == json.OID: // the binary form is the same
		return t.AppendText(dst, v, loc), nil
	case v.Kind == value.Float && t.OID == float8.OID:
		return be.AppendUint64(dst, v.Low), nil
	case v.Kind == value.Text, v.Kind == value.Bytes:
		return append(dst, v.Text...), nil
	case v.Kind == value.Instant, v.Kind == value.Local:
		return be.AppendUint64(dst, uint64(v.Micros()-epochMicros)), nil
	case v.Kind == value.Day:
		return be.AppendUint32(dst, uint32(v.Int()-epochDays)), nil
	case v.Kind == value.Bool:
		return append(dst, byte(v.Int())), nil
	case v.Kind == value.Integer && t.Size == 2:
		return be.AppendUint16(dst, uint16(v.Int())), nil
	case v.Kind == value.Integer && t.Size == 4:
		return be.AppendUint32(dst, uint32(v.Int())), nil
	case v.Kind == value.Integer && t.Size == 8:
		return be.AppendUint64(dst, uint64(v.Int())), nil
	}
	raw, err := t.convert(t.AppendText(nil, v, loc), pgtype.TextFormatCode, pgtype.BinaryFormatCode)
	if err != nil {
		return nil, fmt.Errorf("a value of %s cannot be sent in binary", t.Name)
	}
	if t.OID == numeric.OID { // after a head of 8 bytes are digits of base 10,000; Postgres sends none that are 0 at the end
		for len(raw) > 8 && be.Uint16(raw[len(raw)-2:]) == 0 {
			raw = raw[:len(raw)-2]
		}
		be.PutUint16(raw, uint16(len(raw)-8)/2)
	}
	return append(dst, raw...), nil
}

// codecs converts values; it is not safe for concurrent use.
var codecs = sync.OnceValue(pgtype.NewMap)

var converting sync.Mutex

// convert converts a value of the type between its text and its binary form.
func (t Type) convert(raw []byte, from, to int16) ([]byte, error) {
	converting.Lock()
	defer converting.Unlock()
	of, known := codecs().TypeForOID(t.OID)
	if !known {
		return nil, fmt.Errorf("%s has no binary form here", t.Name)
	}
	v, err := of.Codec.DecodeValue(codecs(), t.OID, from, raw)
	if err != nil {
		return nil, err
	}
	return codecs().Encode(t.OID, to, v, nil)
}
