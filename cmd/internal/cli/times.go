package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// ParseTime parses an instant: a date (2026-11-01, midnight in loc; also a word, see dayOf), a
// time of RFC 3339 (2026-11-01T08:00:00Z), a local time (2026-11-01T08:00, in loc), or an age (24h,
// 7d, 2w, 30min; see ParseAge). A day of an age is 24 hours.
func ParseTime(s string, loc *time.Location, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "now" {
		return now, nil
	}
	if y, m, d, ok := dayOf(s, now.In(loc)); ok {
		return wallClock(time.Date(y, m, d, 0, 0, 0, 0, time.UTC), loc), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateTime} {
		if t, err := time.Parse(layout, s); err == nil {
			return wallClock(t, loc), nil
		}
	}
	d, err := ParseAge(s)
	if err != nil {
		if _, ok := parseSpan(s); !ok {
			err = fmt.Errorf("%q is not a date, time or duration", s)
		}
		return time.Time{}, err
	}
	return now.Add(-d), nil
}

// TimeWords are the words that ParseTime takes for a day, and common ages.
func TimeWords() []string {
	out := []string{"today", "yesterday"}
	for d := range 7 {
		out = append(out, strings.ToLower(time.Weekday((d+1)%7).String()))
	}
	return append(out, "this-month", "last-month", "this-year", "last-year", "24h", "7d", "4w")
}

// dayOf returns the day of a word: today, yesterday, a weekday (the last one, today included), and
// the first of this-month, last-month, this-year and last-year.
func dayOf(word string, now time.Time) (year int, month time.Month, day int, ok bool) {
	year, month, day = now.Date()
	switch word = strings.ToLower(word); word {
	case "today":
		return year, month, day, true
	case "yesterday":
		return year, month, day - 1, true
	case "this-month":
		return year, month, 1, true
	case "last-month":
		return year, month - 1, 1, true
	case "this-year":
		return year, time.January, 1, true
	case "last-year":
		return year - 1, time.January, 1, true
	}
	for back := range 7 {
		if word == strings.ToLower(time.Weekday((int(now.Weekday())+7-back)%7).String()) {
			return year, month, day - back, true
		}
	}
	return 0, 0, 0, false
}

// TimeOf parses the instant of a flag; zero if the flag is empty.
func TimeOf(flag, s string, loc *time.Location, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := ParseTime(s, loc, now)
	if err != nil {
		err = Usage("use a date (2026-11-01), a day (yesterday, monday, last-month), a time (2026-11-01T09:00:00Z) or an age (7d, 24h)",
			"--%s: %w", flag, err)
	}
	return t, err
}

// DayBegin returns the first instant of t's day in its zone, whose clocks may skip midnight or repeat it.
func DayBegin(t time.Time) time.Time {
	y, m, d := t.Date()
	return wallClock(time.Date(y, m, d, 0, 0, 0, 0, time.UTC), t.Location())
}

// wallClock returns the instant at which the clocks of a zone show what t shows in UTC: the first
// one of a repeated time, the end of the gap for a skipped one.
func wallClock(t time.Time, loc *time.Location) time.Time {
	shown := func(at time.Time) bool {
		_, offset := at.Zone()
		return at.Add(time.Duration(offset) * time.Second).Equal(t)
	}
	var first, next time.Time
	for at, end := t.Add(-36*time.Hour).In(loc), t.Add(36*time.Hour); at.Before(end); at = next {
		// The offset is constant up to the next change, so there is at most one such time.
		_, offset := at.Zone()
		first = t.Add(-time.Duration(offset) * time.Second).In(loc)
		if _, next = at.ZoneBounds(); next.IsZero() {
			next = end
		}
		if first.Before(at) { // skipped: the time is in the gap
			return at
		}
		if shown(first) && first.Before(next) {
			return first
		}
	}
	return first
}

// ParseAge is ParseSpan for settings usually given in days. It refuses small values in m, which may
// mean minutes or months.
func ParseAge(s string) (time.Duration, error) {
	d, err := ParseSpan(s)
	number, bare := strings.CutSuffix(strings.TrimSpace(s), "m")
	if n, nerr := strconv.ParseFloat(number, 64); err == nil && bare && nerr == nil && n > 0 && d < time.Hour {
		return 0, fmt.Errorf("%q could be minutes or months: use %smin or %vd", s, number, math.Ceil(30*n))
	}
	return d, err
}

// ParseSpan parses a span such as 90m, 30min, 24h, 7d or 2w. A day is 24 hours.
func ParseSpan(s string) (time.Duration, error) {
	d, ok := parseSpan(strings.TrimSpace(s))
	if !ok {
		return 0, fmt.Errorf("%q is not a duration", s)
	}
	return d, nil
}

// SpanVar adds a flag for a span, such as 90m, 24h, 7d or 2w.
func SpanVar(f *pflag.FlagSet, into *time.Duration, name string, def time.Duration, usage string) {
	*into = def
	f.Var((*span)(into), name, usage)
}

// span is the value of a flag of SpanVar.
type span time.Duration

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	d, err := ParseSpan(text)
	if err != nil {
		return fmt.Errorf("%w: use e.g. 90m, 6h or 7d", err)
	}
	*s = span(d)
	return nil
}

// Type implements pflag.Value.
func (s *span) Type() string { return "duration" }

// String implements pflag.Value: whole days as days, without zero parts.
func (s *span) String() string {
	d := time.Duration(*s)
	if d > 0 && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func parseSpan(s string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.Atoi(number)
			return time.Duration(n) * length, err == nil && n >= 0 && n < 100_000
		}
	}
	d, err := time.ParseDuration(strings.ReplaceAll(s, "min", "m"))
	return d, err == nil && d >= 0
}

// Clock formats a duration: 8s, 1m 05s, 2h 03m.
func Clock(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Moment formats a time for people, in its zone, which it names.
func Moment(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") }

// Zone returns the time zone of a name. It is never the machine's, on which answers would depend.
func Zone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || strings.EqualFold(name, "local") {
		return nil, UnknownZone(name, "")
	}
	return loc, nil
}

// UnknownZone returns the error for a name of no zone. near is a similar name, if one is known.
func UnknownZone(name, near string) error {
	return Usage(DidYouMean(near, "use a name such as Asia/Seoul, Europe/Berlin or UTC"), "unknown time zone %q", name)
}
