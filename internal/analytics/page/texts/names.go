package texts

import (
	"fmt"
	"math"
)

// Clip shortens a name to a number of letters, keeping its end: similar names often differ there.
func Clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		end := limit / 3
		return string(r[:limit-1-end]) + "…" + string(r[len(r)-end:])
	}
	return s
}

// ShortName shortens an id as long as a UUID, and any other name to the available width.
func ShortName(s string) string {
	const begin, uuid = 8, 36
	if len(s) == uuid && s[begin] == '-' {
		return s[:begin]
	}
	return Clip(s, 40)
}

// Sign returns the sign of a difference.
func Sign(f float64) string {
	if f < 0 {
		return "−"
	}
	return "+"
}

// Signed writes a difference with its sign and one decimal.
func Signed(f float64) string { return Sign(f) + fmt.Sprintf("%.1f", math.Abs(f)) }
