package page

import (
	"strings"

	"callhouse/internal/analytics/page/texts"
)

// lang writes the page's texts in one language and currency.
type lang struct{ *texts.Texts }

func newLang(name, money string) (*lang, error) {
	l, err := texts.New(name, money)
	return &lang{l}, err
}

// length writes the number of days of a period.
func (l *lang) length(p period) string { return l.Say("count.days", p.days()) }

// period writes the days of a period, including the last one.
func (l *lang) period(p period) string {
	if p.days() == 1 {
		return l.Day(p.since)
	}
	return l.Say("period.span", l.Time("date", p.since), l.Time("date", p.until.AddDate(0, 0, -1)))
}

// before writes the period before another.
func (l *lang) before(p period) string {
	if p.days() == 1 {
		return l.Say("period.day_before")
	}
	return l.Say("period.before", l.length(p))
}

// why translates the marks of a call in the report worst.
func (l *lang) why(marks string) string {
	words := strings.Split(marks, ", ")
	for i := range words {
		words[i] = l.Word("worst", strings.ReplaceAll(words[i], " ", "_"))
	}
	return strings.Join(words, ", ")
}
