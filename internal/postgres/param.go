package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"callhouse/internal/analytics/value"
)

// Param decodes a parameter sent by a client, in binary or as text: nil, bool, int64, float64,
// or a text for DuckDB to parse.
func (t Type) Param(raw []byte, isBinary bool) (_ any, err error) {
	if raw == nil {
		return nil, nil
	}
	if t.OID == bytea.OID || t.Elem != nil && t.Elem.OID == bytea.OID {
		return nil, errors.New("parameters of the type bytea are not supported")
	}
	if isBinary && t.Name != TextType.Name && t.OID != json.OID { // the two forms of these are the same
		if raw, err = t.convert(raw, pgtype.BinaryFormatCode, pgtype.TextFormatCode); err != nil {
			return nil, fmt.Errorf("the value of a parameter is not a binary %s", t.Name)
		}
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
		return nil, invalid("boolean", text)
	case int2Type.OID, int4Type.OID, int8Type.OID, oidType.OID:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, invalid("integer", text)
		}
		return n, nil
	case float4.OID, float8.OID:
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, invalid("double precision", text)
		}
		return f, nil
	case timestamp.OID, timestamptz.OID:
		return Instant(text), nil
	}
	if t.Elem != nil {
		return ArrayLiteral(text)
	}
	return text, nil
}

// invalid is the error for a text that is not a value of a type.
func invalid(name, text string) error {
	return fmt.Errorf("invalid input syntax for type %s: %q", name, text)
}

// ArrayLiteral converts Postgres' text of a one-dimensional array to DuckDB's text of a list.
func ArrayLiteral(text string) (string, error) {
	var of pgtype.Array[*string]
	converting.Lock()
	err := codecs().Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, []byte(text), &of)
	converting.Unlock()
	if err != nil || len(of.Dims) > 1 {
		return "", invalid("array", text)
	}
	out := []byte{'['}
	for i, word := range of.Elements {
		if i > 0 {
			out = append(out, ", "...)
		}
		if word == nil {
			out = append(out, "NULL"...)
		} else {
			out = value.AppendString(out, *word)
		}
	}
	return string(append(out, ']')), nil
}

// instantRE matches a date and time that DuckDB reads in one spelling only.
var instantRE = regexp.MustCompile(`^\s*(\d{4}-\d{1,2}-\d{1,2})[ T](\d{1,2}:\d{2})(:\d{2}(?:\.\d+)?)?\s*` +
	`([zZ]|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*$`)

// Instant returns a date and time in DuckDB's spelling: with seconds, and without a space before
// the zone. Other texts are unchanged.
func Instant(text string) string {
	m := instantRE.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	date, clock, seconds, zone := m[1], m[2], m[3], m[4]
	if seconds == "" {
		seconds = ":00"
	}
	switch {
	case zone == "", zone[0] == '+', zone[0] == '-':
	default:
		zone = "+00"
	}
	return date + " " + clock + seconds + zone
}
