package question_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// The days of the weekend that begin in a period, counted one by one, also with clocks that skip
// midnight (Havana) or a whole day (Apia), and in a period without a beginning.
func TestWeekendDays(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for _, zone := range []string{"UTC", "America/Havana", "Pacific/Apia", "Asia/Seoul"} {
		loc, err := time.LoadLocation(zone)
		test.OK(t, err)
		for n := range 300 {
			until := time.Date(2011, 11, 1, 0, 0, 0, 0, loc).AddDate(0, 0, random.IntN(200))
			since := until.AddDate(0, 0, -random.IntN(40))
			since, until = since.Add(time.Duration(random.IntN(2)*random.IntN(86400))*time.Second), until.Add(time.Duration(random.IntN(2)*random.IntN(86400))*time.Second+1)
			if n == 0 && (zone == "Pacific/Apia" || longtest.On()) {
				since = time.Time{}
			}
			want := 0
			for day := question.DayOf(since, loc); question.DayBegin(day, loc).Before(until); day = day.AddDate(0, 0, 1) {
				if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
					want++
				}
			}
			if got := question.WeekendDays(question.Params{Since: since, Until: until}, loc); got != want {
				t.Errorf("%s to %s: %d days of the weekend, want %d", since, until, got, want)
			}
		}
	}
}
