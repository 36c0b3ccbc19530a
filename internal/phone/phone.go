// Package phone compares telephone numbers in any spelling. It alone decides the normal form of a
// number: E.164.
package phone

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// Normal returns a number in E.164 form, such as +821012345678. country is the region of national
// spellings, such as KR; if it is empty, only international spellings have a normal form.
func Normal(text, country string) (e164 string, ok bool) {
	n := parse(fold(text), country)
	if n == nil {
		return "", false
	}
	return phonenumbers.Format(n, phonenumbers.E164), true
}

// IsCountry reports whether a two-letter region such as KR is known.
func IsCountry(country string) bool { return phonenumbers.GetSupportedRegions()[country] }

// parse returns the number spelled by a folded text, or nil. An international spelling needs only a
// possible length. A national one must be valid in its country, since digits without a plus may
// also be an international number.
func parse(text, country string) *phonenumbers.PhoneNumber {
	if strings.ContainsFunc(text, unicode.IsLetter) {
		return nil // letters on a keypad stand for digits, so names would be numbers
	}
	if text != "" && (text[0] == '+' || country != "") {
		n, err := phonenumbers.Parse(text, country)
		if err == nil && phonenumbers.IsPossibleNumber(n) && (text[0] == '+' || phonenumbers.IsValidNumber(n)) {
			return n
		}
	}
	if after, ok := strings.CutPrefix(text, "00"); ok && !strings.HasPrefix(after, "+") {
		return parse("+"+after, "")
	}
	return nil
}

// fold returns the text without the scheme and the parameters of a URI, and without
// spaces around it; full-width characters become plain ones.
func fold(text string) string {
	text = strings.Map(plain, text)
	for _, scheme := range []string{"tel:", "sip:", "sips:", "callto:"} {
		if len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
			text, _, _ = strings.Cut(text[len(scheme):], "@")
			text, _, _ = strings.Cut(text, ";")
			break
		}
	}
	return strings.TrimSpace(text)
}

// plain returns the ASCII character for a full-width one, a hyphen for any dash, and a
// space for any other space.
func plain(r rune) rune {
	switch {
	case r < unicode.MaxASCII:
		return r
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	case unicode.Is(unicode.Pd, r), r == '−', r == '\u00ad':
		return '-'
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// Number is a telephone number to search for.
type Number struct {
	text     string // as given
	folded   string
	country  string
	is       *phonenumbers.PhoneNumber // nil if its country is unknown
	region   string                    // of is; may be empty
	code     string                    // country code; empty if unknown
	national string                    // digits without country code and trunk prefix; empty: no number
	trunk    string                    // prefix of national spellings
}

// minDigits is the minimum number of digits that distinguishes a number from other digits in a
// text.
const minDigits = 7

// Parse parses a number to search for. Any text is accepted: one that is not a telephone number is
// found only in the same spelling. country is that of [Normal].
func Parse(text, country string) *Number {
	n := &Number{text: text, folded: fold(text), country: country, trunk: "0"}
	if n.is = parse(n.folded, country); n.is != nil {
		n.region = phonenumbers.GetRegionCodeForNumber(n.is)
		n.code = strconv.Itoa(int(n.is.GetCountryCode()))
		n.national = phonenumbers.GetNationalSignificantNumber(n.is)
		if ndd := phonenumbers.GetNddPrefixForRegion(n.region, true); ndd != "" {
			n.trunk = ndd
		}
		return n
	}
	if d := digits(n.folded); len(d) >= minDigits {
		n.national = strings.TrimLeft(d, "0")
	}
	return n
}

// Searchable reports whether the number has enough digits to be searched for inside texts.
func (n *Number) Searchable() bool { return len(n.national) >= minDigits }

// commonDigits is the number of trailing digits that two spellings without a country must share: an
// area code and a number.
const commonDigits = 9

// Is reports whether a text spells this number and nothing else. If neither spelling has a country,
// it accepts numbers that differ only in their country.
func (n *Number) Is(text string) bool {
	if text == n.text {
		return true
	}
	if n.national == "" || len(text) < minDigits || !n.mayBe(text) {
		return false
	}
	other := fold(text)
	is := parse(other, n.country)
	switch {
	case n.is != nil && is != nil:
		return same(n.is, is)
	case n.is != nil: // its digits are read in this number's country
		if is = parse(other, n.region); is != nil {
			return same(n.is, is)
		}
		d := strings.TrimLeft(digits(other), "0")
		return d == n.code+n.national || d == n.national
	case is != nil:
		region := phonenumbers.GetRegionCodeForNumber(is)
		if parsed := parse(n.folded, region); parsed != nil {
			return same(parsed, is)
		}
		return phonenumbers.GetNationalSignificantNumber(is) == n.national
	}
	a, b := n.national, strings.TrimLeft(digits(other), "0")
	return a == b || len(a) >= commonDigits && len(b) >= commonDigits && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
}

func same(a, b *phonenumbers.PhoneNumber) bool {
	return phonenumbers.Format(a, phonenumbers.E164) == phonenumbers.Format(b, phonenumbers.E164)
}

// mayBe reports whether a text has the number's last digits in order. It is much cheaper than
// parsing.
func (n *Number) mayBe(text string) bool {
	last := n.national[max(0, len(n.national)-6):]
	var buf [64]byte
	return strings.Contains(string(appendDigits(buf[:0], text)), last)
}

func appendDigits(dst []byte, text string) []byte {
	for _, r := range text {
		if r = plain(r); r >= '0' && r <= '9' {
			dst = append(dst, byte(r))
		}
	}
	return dst
}

// digits returns the digits of a folded text; empty if it has characters that no telephone number
// has.
func digits(text string) string {
	if strings.Trim(text, "0123456789+-.()/ ") != "" || strings.Trim(text, "+-.()/ 0123456789") != "" {
		return ""
	}
	return string(appendDigits(nil, text))
}

// Spellings returns the usual spellings of the number, including the given one.
func (n *Number) Spellings() []string {
	out := []string{n.text}
	if n.is != nil {
		out = append(out, n.code+n.national, n.trunk+n.national, n.national, "00"+n.code+n.national)
		out = append(out, phonenumbers.Format(n.is, phonenumbers.E164), phonenumbers.Format(n.is, phonenumbers.INTERNATIONAL),
			phonenumbers.Format(n.is, phonenumbers.NATIONAL), phonenumbers.Format(n.is, phonenumbers.RFC3966))
	} else if n.national != "" {
		out = append(out, digits(n.folded), n.national, n.trunk+n.national)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
