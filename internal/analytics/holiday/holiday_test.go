package holiday

import (
	"testing"
	"time"
)

func TestHolidays(t *testing.T) {
	for _, c := range []struct {
		country, day string
		is           bool
	}{
		{"US", "2026-11-26", true}, {"US", "2026-11-27", false}, {"US", "2026-07-03", true}, // the 4th is a Saturday
		{"DE", "2026-04-03", true}, {"DE", "2026-10-03", true}, {"DE", "2026-11-01", false}, // in some states only
		{"JP", "2026-09-22", true}, {"GB", "2026-12-28", true}, {"KR", "2026-01-01", false},
	} {
		is := false
		for _, day := range In(c.country, 2025, 2027) {
			is = is || day.Format(time.DateOnly) == c.day
		}
		if is != c.is {
			t.Errorf("%s, %s: holiday %v, want %v", c.country, c.day, is, c.is)
		}
	}
	if n := len(Countries()); n < 30 {
		t.Errorf("the holidays of %d countries are known", n)
	}
}
