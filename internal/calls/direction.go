package calls

import (
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// The words of the column direction.
var (
	inbound          = schema.TextValue([]byte("inbound"))
	outbound         = schema.TextValue([]byte("outbound"))
	unknownDirection = schema.TextValue([]byte("unknown"))
)

// Sides are the known facts about the numbers of a call. A nil text means none.
type Sides struct {
	FromE164, ToE164 []byte // the normal forms of the numbers
	// The same numbers, and the displayed one, if they were the organisation's own on the day of
	// the call, as spelled in its list of numbers.
	OwnFrom, OwnTo, OwnShown []byte
}

// SetSides sets the columns derived from the numbers of the call, and reports whether any of them
// changed.
//
// The direction is call_type if that is inbound or outbound. A web call has none. Any other call is
// inbound if it went to a number of the organisation, and outbound if it came from one or displayed
// one. A call between two of its numbers is neither.
func (c *Call) SetSides(s *Sides) (changed bool) {
	direction, own := unknownDirection, s.OwnShown
	if own == nil {
		own = s.OwnFrom
	}
	switch kind := string(c.text(colCallType)); {
	case kind == "web":
		direction = parquet.Value{}
	case kind == "inbound", kind != "outbound" && s.OwnTo != nil && s.OwnFrom == nil:
		direction, own = inbound, s.OwnTo
	case kind == "outbound", own != nil && s.OwnTo == nil:
		direction = outbound
	}
	for _, is := range [...]struct {
		col   int
		value parquet.Value
	}{{colDirection, direction}, {colFromE164, textOrNull(s.FromE164)}, {colToE164, textOrNull(s.ToE164)}, {colOwnNumber, textOrNull(own)}} {
		if !parquet.Equal(c.Row[is.col], is.value) {
			c.Row[is.col], changed = is.value, true
		}
	}
	return changed
}

func textOrNull(text []byte) parquet.Value {
	if text == nil {
		return parquet.Value{}
	}
	return schema.TextValue(text)
}
