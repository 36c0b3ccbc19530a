package format

import (
	"math"
	"regexp"
	"time"

	"callhouse/internal/analytics/value"
)

// spreadsheet is CSV that Excel and similar programs read safely: they run a cell that begins with
// =, +, - or @ as a formula, drop leading zeros of a number, and do not support times with an
// offset.
var spreadsheet = flavour{"\ufeff", "\r\n", sheetText} // without its beginning Excel assumes its country's encoding

// asText marks a cell as text.
const asText = '\''

var (
	// formulaRE matches the beginning of a formula, also after characters that some programs skip,
	// and in full-width form, which East Asian versions accept.
	formulaRE = regexp.MustCompile("^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
	// numberRE matches text that would become a number and lose digits: phone numbers, ids such as
	// 0014e57.
	numberRE = regexp.MustCompile(`^(?:0[0-9]+|[0-9]{7,}|[0-9]+[eE][0-9]+)$`)
)

const sheetTime = "2006-01-02 15:04:05.999"

func sheetText(v *value.Value, dst []byte, loc *time.Location) []byte {
	switch v.Kind {
	case value.Bool, value.Integer, value.Exact, value.Day:
		return v.AppendText(dst, loc)
	case value.Float:
		if !math.IsInf(v.Float(), 0) {
			return v.AppendText(dst, loc)
		}
	case value.Instant, value.Local:
		return v.Time().In(zoneOf(v, loc)).AppendFormat(dst, sheetTime)
	}
	from := len(dst)
	dst = v.AppendText(append(dst, asText), loc)
	if text := dst[from+1:]; formulaRE.Match(text) || numberRE.Match(text) || len(text) > 0 && text[0] == asText {
		return dst
	}
	return append(dst[:from], dst[from+1:]...)
}

// zoneOf returns the zone in which a spreadsheet shows a value.
func zoneOf(v *value.Value, loc *time.Location) *time.Location {
	if v.Kind == value.Instant {
		return loc
	}
	return time.UTC
}
