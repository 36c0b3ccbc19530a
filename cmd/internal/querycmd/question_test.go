package querycmd_test

import (
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/question"
)

// A period is compared with the same days of last month or last year, or with one of the same length that
// begins at any time that --since takes.
func TestCompareWith(t *testing.T) {
	f, err := question.Report("costs")
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct{ compare, since, until, want string }{
		{"last-month", "", "", "11-01 00 to 11-29 09, 26-10-01 00 to 26-10-29 09"},
		{"Last-Month", "last-month", "this-month", "10-01 00 to 11-01 00, 26-09-01 00 to 26-10-01 00"},
		{"last-month", "2026-03-01", "2026-03-31T12:00", "03-01 00 to 03-31 12, 26-02-01 00 to 26-03-01 00"},
		{"last-month", "2026-03-31", "2026-04-01", "03-31 00 to 04-01 00, 26-02-28 00 to 26-03-01 00"},
		{"last-year", "2026-10-01", "2026-11-01", "10-01 00 to 11-01 00, 25-10-01 00 to 25-11-01 00"},
		{"yesterday", "", "", "11-29 00 to 11-29 09, 26-11-28 00 to 26-11-28 09"},
		{"14d", "7d", "", "11-22 09 to 11-29 09, 26-11-15 09 to 26-11-22 09"},
		{"2026-02-01", "2026-10-01", "2026-11-01", "10-01 00 to 11-01 00, 26-02-01 00 to 26-03-01 00"},
		{"previous", "monday", "", "11-23 00 to 11-29 09, 26-11-16 00 to 26-11-22 09"},
		{"previous", "", "", "--compare needs the start of the period"},
		{"lastmonth", "7d", "", "--compare: \"lastmonth\" is not"},
		{"tuesday", "2026-11-01", "", "does not begin before the period"},
	} {
		q := answer.Question{Compare: c.compare, Since: c.since, Until: c.until}
		p, err2 := q.Params(time.UTC, now)
		if err2 == nil {
			p, err2 = question.Compare(f, p, now, now, time.UTC)
		}
		got := p.Since.Format("01-02 15 to ") + p.Until.Format("01-02 15, ") + p.PreviousSince.Format("06-01-02 15 to ") + p.PreviousUntil.Format("06-01-02 15")
		if err != nil || err2 == nil && got != c.want || err2 != nil && !strings.Contains(err2.Error(), c.want) {
			t.Errorf("--compare %s --since %s: %s, %v, want %s", c.compare, c.since, got, err2, c.want)
		}
	}
}
