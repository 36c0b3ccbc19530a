package format

import (
	"math"
	"math/big"
	"regexp"
	"time"

	"callhouse/internal/analytics/value"
)

// spreadsheet is CSV that Excel and similar programs read safely: they run a cell that begins with
// =, +, - or @ as a formula, drop leading zeros of a number, and do not support times with an
// offset.
type spreadsheet struct{}

func (spreadsheet) begin() string { return "\ufeff" } // without it Excel assumes its country's encoding
func (spreadsheet) end() string   { return "\r\n" }

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

func (spreadsheet) appendText(dst []byte, v any, loc *time.Location) []byte {
	switch v := v.(type) {
	case bool, int64, uint64, *big.Int, value.Decimal, value.Date:
		return value.AppendText(dst, v, loc)
	case float32:
		if !math.IsInf(float64(v), 0) {
			return value.AppendText(dst, v, loc)
		}
	case float64:
		if !math.IsInf(v, 0) {
			return value.AppendText(dst, v, loc)
		}
	case time.Time:
		return v.In(loc).AppendFormat(dst, sheetTime)
	case value.LocalTime:
		return time.Time(v).AppendFormat(dst, sheetTime)
	}
	from := len(dst)
	dst = value.AppendText(append(dst, asText), v, loc)
	if text := dst[from+1:]; formulaRE.Match(text) || numberRE.Match(text) || len(text) > 0 && text[0] == asText {
		return dst
	}
	return append(dst[:from], dst[from+1:]...)
}
