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
