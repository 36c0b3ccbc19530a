package cli

import "github.com/dustin/go-humanize"

// Plural counts things whose plural ends in s: 1 row, 2,031 rows.
func Plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return humanize.Comma(n) + " " + thing + "s"
}
