package value

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/internal/words"
)

// Cell returns a value of a column for people, on one line and without control sequences. Instants are in loc.
func Cell(v Value, c Column, loc *time.Location) string {
	switch {
	case v.Kind == Null:
		return c.Null
	case v.Kind == Bool && c.Short:
		return map[bool]string{true: "yes"}[v.Low != 0]
	case v.Kind == Integer && c.Unit == Millis:
		return Duration(v.Big())
	case v.Kind == Integer && c.Unit == Count:
		return Thousands(v.String())
	case v.Kind == Float && c.Unit == Percent:
		return percent(v.Float())
	case v.Kind == Float && (c.Unit == Number || c.Unit == Points || c.Unit == Money):
		return decimal(v.Float(), c.Unit == Points)
	case v.Kind == Exact && c.Unit == Money:
		return money(v.String())
	case v.Kind == Exact && (c.Unit == Number || c.Unit == Points):
		return strings.TrimSuffix(money(v.String()), ".00")
	}
	text := string(v.AppendHuman(nil, loc))
	if at := strings.IndexByte(text, '.'); c.Short && v.Kind == Instant && at > 0 {
		text = text[:at] + strings.TrimLeft(text[at+1:], "0123456789")
	}
	if c.Wrap { // prose, whose line breaks do not matter
		text = strings.Join(strings.Fields(text), " ")
	}
	return words.Line(text)
}

// Thousands adds separators to a whole number: 2,031.
func Thousands(s string) string {
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// money writes a decimal with separators and two decimals; below 10, with all its decimals.
func money(s string) string {
	if r, ok := new(big.Rat).SetString(s); ok && r.Cmp(big.NewRat(10, 1)) >= 0 {
		s = r.FloatString(2)
	}
	whole, decimals, _ := strings.Cut(s, ".")
	for len(decimals) > 2 && decimals[len(decimals)-1] == '0' {
		decimals = decimals[:len(decimals)-1]
	}
	if decimals == "" {
		return Thousands(whole)
	}
	return Thousands(whole) + "." + decimals
}

// decimal writes one decimal with separators, and a plus sign if requested.
func decimal(f float64, plus bool) string {
	whole, tenth, ok := strings.Cut(fmt.Sprintf("%.1f", f), ".")
	if !ok { // NaN, infinities
		return whole
	}
	s := Thousands(whole) + "." + tenth
	if s == "0.0" || s == "-0.0" {
		return "0.0"
	}
	if plus && f > 0 {
		s = "+" + s
	}
	return s
}

// percent writes one decimal and never rounds a non-zero value to zero.
func percent(f float64) string {
	if f > 0 && f < .05 {
		return "<0.1%"
	}
	if f > 99.95 && f < 100 {
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", f)
}

// Duration writes milliseconds in the two largest units.
func Duration(ms *big.Int) string {
	if ms.Sign() < 0 {
		return "-" + Duration(new(big.Int).Neg(ms))
	}
	if !ms.IsInt64() {
		return Thousands(ms.String()) + "ms"
	}
	n := ms.Int64()
	switch {
	case n < 1000:
		return fmt.Sprintf("%dms", n)
	case n < 59_950:
		return fmt.Sprintf("%.1fs", float64(n)/1000)
	}
	s := (n + 500) / 1000
	if s < 3600 {
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	m := (n + 30_000) / 60_000
	return fmt.Sprintf("%sh %02dm", Thousands(fmt.Sprint(m/60)), m%60)
}

// Calls writes a number of calls: "1 call", "1,234 calls".
func Calls(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return humanize.Comma(n) + " calls"
}
