package cell

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
)

// Param decodes a parameter sent by a client, in binary or as text: nil, bool, int64, float64,
// []byte, time.Time, or a text for DuckDB to parse.
func (t Type) Param(raw []byte, isBinary bool) (any, error) {
	if raw == nil {
		return nil, nil
	}
	if isBinary {
		v, err := t.binaryParam(raw)
		if err != nil {
			return nil, fmt.Errorf("the value of a parameter is not a binary %s", t.Name)
		}
		return v, nil
	}
	text := string(raw)
	switch t.OID {
	case boolean.OID:
		switch strings.ToLower(text) {
		case "t", "true", "y", "yes", "on", "1":
			return true, nil
		case "f", "false", "n", "no", "off", "0":
			return false, nil
		}
		return nil, &SyntaxError{"boolean", text}
	case int2Type.OID, int4Type.OID, int8Type.OID, oidType.OID:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, &SyntaxError{"integer", text}
		}
		return n, nil
	case float4.OID, float8.OID:
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, &SyntaxError{"double precision", text}
		}
		return f, nil
	case bytea.OID:
		return text, nil
	case timestamp.OID, timestamptz.OID:
		return Instant(text), nil
	}
	if t.Elem != nil {
		return ArrayLiteral(text)
	}
	return text, nil
}

// SyntaxError reports a text that is not a value of the type.
type SyntaxError struct{ Type, Text string }

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid input syntax for type %s: %q", e.Type, e.Text)
}

var errShort = fmt.Errorf("too short")

func (t Type) binaryParam(raw []byte) (any, error) {
	if t.Size > 0 && len(raw) != int(t.Size) {
		return nil, errShort
	}
	switch t.OID {
	case boolean.OID:
		return raw[0] != 0, nil
	case int2Type.OID:
		return int64(int16(be.Uint16(raw))), nil
	case int4Type.OID:
		return int64(int32(be.Uint32(raw))), nil
	case oidType.OID:
		return int64(be.Uint32(raw)), nil
	case int8Type.OID:
		return int64(be.Uint64(raw)), nil
	case float4.OID:
		return float64(math.Float32frombits(be.Uint32(raw))), nil
	case float8.OID:
		return math.Float64frombits(be.Uint64(raw)), nil
	case bytea.OID:
		return raw, nil
	case date.OID:
		if days := int64(int32(be.Uint32(raw))); days != math.MaxInt32 && days != math.MinInt32 {
			return value.Int(value.Day, days+epochDays).String(), nil
		}
		return nil, fmt.Errorf("infinity")
	case timestamp.OID:
		return value.Int(value.Local, int64(be.Uint64(raw))+epochMicros).String(), nil
	case timestamptz.OID:
		return time.UnixMicro(int64(be.Uint64(raw)) + epochMicros), nil
	case timeType.OID:
		return value.Int(value.Clock, int64(be.Uint64(raw))).String(), nil
	case uuid.OID:
		return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]), nil
	case interval.OID:
		v := value.Interval(int32(be.Uint32(raw[12:])), int32(be.Uint32(raw[8:])), int64(be.Uint64(raw)))
		return string(Text.AppendText(nil, &v, time.UTC)), nil
	case numeric.OID:
		return binaryNumeric(raw)
	}
	if t.Elem != nil {
		return t.binaryArray(raw)
	}
	return string(raw), nil
}

func binaryNumeric(raw []byte) (string, error) {
	if len(raw) < 8 || len(raw) != 8+2*int(be.Uint16(raw)) {
		return "", errShort
	}
	weight, sign, scale := int(int16(be.Uint16(raw[2:]))), be.Uint16(raw[4:]), int(be.Uint16(raw[6:]))
	if sign != 0 && sign != 0x4000 || weight > 100 || weight < -100 || scale > 400 {
		return "", fmt.Errorf("not a number")
	}
	n := new(big.Int)
	digits := raw[8:]
	for ; len(digits) > 0; digits = digits[2:] {
		n.Add(n.Mul(n, big.NewInt(10_000)), big.NewInt(int64(be.Uint16(digits))))
	}
	power := 4 * (weight + 1 - (len(raw)-8)/2)
	if sign != 0 {
		n.Neg(n)
	}
	ten := func(e int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e)), nil) }
	if power+scale >= 0 {
		n.Mul(n, ten(power+scale))
	} else {
		n.Quo(n, ten(-power-scale))
	}
	v := value.Of(value.Decimal{Units: n, Scale: uint8(min(scale, 255))})
	return string(v.AppendNumber(nil, scale)), nil
}

// binaryArray returns a one-dimensional array as DuckDB's text of a list.
func (t Type) binaryArray(raw []byte) (string, error) {
	if len(raw) < 12 {
		return "", errShort
	}
	if be.Uint32(raw) == 0 {
		return "[]", nil
	}
	if be.Uint32(raw) != 1 || len(raw) < 20 {
		return "", fmt.Errorf("more than one dimension")
	}
	n, raw := be.Uint32(raw[12:]), raw[20:]
	elem := *t.Elem
	out := []byte{'['}
	for i := range n {
		if len(raw) < 4 {
			return "", errShort
		}
		length := int(int32(be.Uint32(raw)))
		raw = raw[4:]
		if i > 0 {
			out = append(out, ", "...)
		}
		if length < 0 {
			out = append(out, "NULL"...)
			continue
		}
		if len(raw) < length {
			return "", errShort
		}
		v, err := elem.binaryParam(raw[:length])
		if err != nil {
			return "", err
		}
		out = value.AppendString(out, string(value.AppendText(nil, v, time.UTC)))
		raw = raw[length:]
	}
	return string(append(out, ']')), nil
}

// ArrayLiteral converts Postgres' text of a one-dimensional array to DuckDB's text of a list.
func ArrayLiteral(text string) (string, error) {
	bad := &SyntaxError{"array", text}
	s := strings.TrimSpace(text)
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return "", bad
	}
	s = s[1 : len(s)-1]
	out := []byte{'['}
	for i := 0; strings.TrimSpace(s) != ""; i++ {
		if i > 0 {
			if s[0] != ',' {
				return "", bad
			}
			s = s[1:]
			out = append(out, ", "...)
		}
		s = strings.TrimLeft(s, " \t\n")
		word, isQuoted, rest, ok := element(s)
		if !ok {
			return "", bad
		}
		if !isQuoted && strings.EqualFold(word, "null") {
			out = append(out, "NULL"...)
		} else {
			out = value.AppendString(out, word)
		}
		s = rest
	}
	return string(append(out, ']')), nil
}

// element splits off the first element.
func element(s string) (word string, isQuoted bool, rest string, ok bool) {
	if s == "" || s[0] == '{' {
		return "", false, "", false
	}
	if s[0] != '"' {
		end := strings.IndexByte(s+",", ',')
		word = strings.TrimSpace(s[:end])
		return word, false, s[end:], word != ""
	}
	var b []byte
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				b = append(b, s[i])
			}
		case '"':
			return string(b), true, strings.TrimLeft(s[i+1:], " \t\n"), true
		default:
			b = append(b, s[i])
		}
	}
	return "", true, "", false
}
