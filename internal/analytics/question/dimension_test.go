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

// Conditions take names in any case, parts of the day and week, and texts however they are composed.
func TestConditionsInAnyForm(t *testing.T) {
	for text, want := range map[string]string{
		"weekday=monday": "(CAST(weekday AS VARCHAR) IN ('Monday'))", "Weekday=Mon..WED": "(CAST(weekday AS VARCHAR) IN ('Monday', 'Tuesday', 'Wednesday'))",
		"weekday=sat..mo": "(CAST(weekday AS VARCHAR) IN ('Saturday', 'Sunday', 'Monday'))", "weekday=fri..fri": "(CAST(weekday AS VARCHAR) IN ('Friday'))",
		"hour=9..11": "(CAST(local_hour AS VARCHAR) IN ('9', '10', '11'))", "hour=09": "(CAST(local_hour AS VARCHAR) IN ('9'))",
		"HOUR=22..1": "(CAST(local_hour AS VARCHAR) IN ('22', '23', '0', '1'))", "outcome=Completed": "(outcome IN ('completed'))",
		"Status=Ended": "(lower(nfc_normalize(status)) IN ('ended'))", "Version=1.0-RC": "(lower(nfc_normalize(agent_version)) IN ('1.0-rc'))",
		"Metadata.Plan=Gold\u1100\u1161": "(in_document_2 IN ('Gold가'))", "weekday=": "(CAST(weekday AS VARCHAR) IN ('') OR weekday IS NULL)",
		"weekday=m": "", "weekday=mon..": "", "weekday=funday": "", "hour=24": "", "hour=9..24": "", "hour=009": "", "hour=-1": "", "outcome=failed..completed": "",
		"outcome=fail": "", "day=2026-11-01..2026-11-03": "", "nobody=1": "",
	} {
		f, err := Filters([]string{text})
		if (err == nil) != (want != "") || err == nil && f[0].Where(f[0].Expr) != want {
			t.Errorf("%s: %+v, %v, want %s", text, f, err, want)
		}
	}
	if got := ByNames("Agent,METADATA.City"); !slices.Equal(got, []string{"agent", "metadata.City"}) {
		t.Errorf("the groups are %q", got)
	}
	if got := (Params{Where: []string{"Version=1"}}).Only("agent_version", "2").Where; !slices.Equal(got, []string{"agent_version=2"}) {
		t.Errorf("the only condition is %q", got)
	}
}
