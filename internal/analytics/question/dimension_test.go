package question

import (
	"regexp"
	"slices"
	"testing"

	sqlfiles "callhouse/sql"
)

// The outcomes that a condition accepts are those in macros.sql. Its values are one list: DuckDB took
// a gigabyte for 1,500 comparisons.
func TestValuesOfConditions(t *testing.T) {
	macro := regexp.MustCompile(`(?s)CREATE MACRO call_end\(.*?;`).FindString(sqlfiles.Macros())
	var given []string
	for _, m := range regexp.MustCompile(`an_end\('(\w+)'`).FindAllStringSubmatch(macro, -1) {
		given = append(given, m[1])
	}
	given = slices.Compact(slices.Sorted(slices.Values(given)))
	if want := slices.Sorted(slices.Values(outcomes)); !slices.Equal(given, want) || len(given) < 5 {
		t.Errorf("the macro gives %q, conditions may ask for %q", given, want)
	}
	if f, err := Filters([]string{"metadata.a=1", "metadata.a=", "metadata.a=2"}); err != nil || f[0].Where("x") != "(x IN ('1', '', '2') OR x IS NULL)" {
		t.Errorf("a condition with three values: %+v, %v", f, err)
	}
}
