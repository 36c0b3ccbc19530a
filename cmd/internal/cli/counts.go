package cli

import (
	"errors"
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

// Size is a flag of bytes, such as 512MiB.
type Size int64

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<50 {
		return errors.New("write a size such as 512MiB or 4GB")
	}
	*s = Size(n)
	return nil
}

// Type implements pflag.Value.
func (*Size) Type() string { return "size" }

// String returns the size as in 512MiB, and nothing for none.
func (s Size) String() string {
	if s == 0 {
		return ""
	}
	return strings.NewReplacer(".0 ", "", " ", "").Replace(humanize.IBytes(uint64(s)))
}

// CheckMemory checks the value of --memory.
func (s Size) CheckMemory() error {
	if s < 64<<20 {
		return Usage("the minimum is 64MiB", "--memory %s is too small", s)
	}
	return nil
}
