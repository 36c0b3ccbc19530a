package format

import (
	"bytes"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"callhouse/internal/analytics/value"
)

// spreadsheet returns CSV that Excel and similar programs show unchanged, whatever their language.
// Their decimal sign is a comma or a point; where it is a comma, a semicolon separates fields.
func spreadsheet(comma bool) flavour {
	f := flavour{"\ufeff", "\r\n", ',', zoned, sheetText} // without its beginning Excel assumes its country's encoding
	if comma {
		f.separator, f.appendText = ';', func(v *value.Value, dst []byte, loc *time.Location) []byte {
			from := len(dst)
			dst = sheetText(v, dst, loc)
			if point := bytes.IndexByte(dst[from:], '.'); point >= 0 && v.Kind.Numeric() {
				dst[from+point] = ','
			}
			return dst
		}
	}
	return f
}

// zoned returns the heading of a column in a spreadsheet, whose times have no zone.
func zoned(c value.Column, loc *time.Location) string {
	if c.Kind == value.Instant {
		return c.Name + " (" + loc.String() + ")"
	}
	return c.Name
}

// longestFormula is the maximum length of a text within a formula of Excel.
const longestFormula = 255

// sheetText appends a cell. A text that would change is the result of a formula, ="007", which Excel,
// LibreOffice and Google Sheets show as 007. A longer one, or several lines, has an apostrophe in front.
func sheetText(v *value.Value, dst []byte, loc *time.Location) []byte {
	switch v.Kind {
	case value.Bool, value.Day:
		return v.AppendText(dst, loc)
	case value.Integer, value.Exact, value.Float:
		if countable(v) {
			return v.AppendText(dst, loc)
		}
	case value.Instant, value.Local:
		return clock(v, loc).AppendFormat(dst, time.DateTime) // Excel shows a time with a fraction as minutes and seconds
	}
	switch text := string(v.AppendText(nil, loc)); {
	case !v.Kind.Numeric() && !changes(text):
		return append(dst, text...)
	case len(text) > longestFormula, strings.ContainsAny(text, "\r\n"): // LibreOffice reads no formula of several lines
		return append(append(dst, '\''), text...)
	default:
		return append(dst, `="`+strings.ReplaceAll(text, `"`, `""`)+`"`...)
	}
}

// countable reports whether a spreadsheet can hold a number: 15 digits, besides decimals.
func countable(v *value.Value) bool {
	if v.Kind == value.Float {
		return !v.Odd()
	}
	var buf [48]byte
	digits, decimals, _ := v.Digits(buf[:0])
	return len(digits)-decimals <= 15
}

var (
	// keptRE matches texts with digits that no spreadsheet changes: short numbers, UUIDs.
	keptRE = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,5}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
	// truthRE matches the truth values of the languages of Excel and LibreOffice.
	truthRE = regexp.MustCompile(`(?i)^(?:true|false|wahr|falsch|vrai|faux|verdadero|falso|verdadeiro|vero|waar|onwaar|prawda|fałsz|` +
		`истина|ложь|істина|хибність|참|거짓|真|假|偽|` +
		`sant|falskt|sand|falsk|sann|usann|tosi|epätosi|igaz|hamis|doğru|yanlış|pravda|nepravda|adevărat|fals)$`)
)

// longestDate is the maximum length of a text that a spreadsheet could read as a date.
const longestDate = 48

// changes reports whether some spreadsheet could take a text for something else: a formula or an
// error by its first character, a truth value, or a number, date or time, which have digits, in any
// script, and the names of months and currencies.
func changes(text string) bool {
	bare := strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	first, _ := utf8.DecodeRuneInString(bare)
	switch {
	case strings.ContainsRune("=+-@'#\u2212\uff1d\uff0b\uff0d\uff20", first), truthRE.MatchString(bare):
		return true
	case !strings.ContainsFunc(text, unicode.IsDigit), strings.ContainsAny(text, `_{}[]"<>=@&|?!`), keptRE.MatchString(text):
		return false
	}
	return utf8.RuneCountInString(bare) <= longestDate || !strings.ContainsFunc(text, unicode.IsLetter)
}

// clock returns a time as a spreadsheet shows it.
func clock(v *value.Value, loc *time.Location) time.Time {
	if v.Kind == value.Instant {
		return v.Time().In(loc)
	}
	return v.Time()
}
