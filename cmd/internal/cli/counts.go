package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
)

// Counts spells counts by name: 12 card, 3 phone.
func Counts(by map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, humanize.Comma(by[name])+" "+name)
	}
	return strings.Join(parts, ", ")
}

// Plural counts things whose plural ends in s: 1 row, 2,031 rows.
func Plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return humanize.Comma(n) + " " + thing + "s"
}
