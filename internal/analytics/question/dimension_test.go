package question

import (
	"regexp"
	"slices"
	"testing"

	sqlfiles "callhouse/sql"
)

// The outcomes that a condition accepts are those in macros.sql.
func TestOutcomesAreThoseOfTheMacro(t *testing.T) {
	macro := regexp.MustCompile(`(?s)CREATE MACRO call_end\(.*?;`).FindString(sqlfiles.Macros())
	var given []string
	for _, m := range regexp.MustCompile(`an_end\('(\w+)'`).FindAllStringSubmatch(macro, -1) {
		given = append(given, m[1])
	}
	slices.Sort(given)
	given = slices.Compact(given)
	if want := slices.Sorted(slices.Values(outcomes)); !slices.Equal(given, want) || len(given) < 5 {
		t.Errorf("the macro gives %q, conditions may ask for %q", given, want)
	}
}
