package page

import (
	"embed"
	"fmt"
	"math"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/currency"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"

	"callhouse/internal/analytics/human"
	"callhouse/internal/analytics/page/chart"
	"callhouse/internal/analytics/value"
)

//go:embed lang/*.toml
var catalogues embed.FS

// Languages returns the page's languages: one embedded file of texts each.
func Languages() (out []string) {
	files, _ := catalogues.ReadDir("lang") // embedded
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return out
}

// lang writes the page's texts in one language and currency.
type lang struct {
	tag     language.Tag
	texts   map[string]any // a string, or forms by plural category
	printer *message.Printer
	money   *currency.Unit // nil: unknown
}

// percentRE matches placeholders and other percent signs.
var percentRE = regexp.MustCompile(`%\[\d+\][a-z]|%%|%`)

// newLang reads a language's texts.
func newLang(name, money string) (*lang, error) {
	if name == "" {
		name = "en"
	}
	if !slices.Contains(Languages(), name) {
		return nil, fmt.Errorf("unknown language %q", name)
	}
	raw, err := catalogues.ReadFile(path.Join("lang", name+".toml"))
	if err != nil {
		return nil, fmt.Errorf("read the page's texts: %w", err)
	}
	return langOf(name, raw, money)
}

func langOf(name string, raw []byte, money string) (*lang, error) {
	l := &lang{tag: language.Make(name)}
	var sections map[string]map[string]any
	if err := toml.Unmarshal(raw, &sections); err != nil {
		return nil, fmt.Errorf("read the page's texts in %s: %w", name, err)
	}
	l.texts = map[string]any{}
	for section, texts := range sections {
		for key, text := range texts {
			l.texts[section+"."+key] = text
		}
	}
	plain := func(text any) string { // a % in a text is literal, except in a placeholder
		return percentRE.ReplaceAllStringFunc(fmt.Sprint(text), func(m string) string {
			if m == "%" {
				return "%%"
			}
			return m
		})
	}
	all := catalog.NewBuilder(catalog.Fallback(l.tag))
	for id, text := range l.texts {
		said := catalog.String(plain(text))
		if forms, ok := text.(map[string]any); ok {
			said = plural.Selectf(1, "%d", plural.One, plain(forms["one"]), plural.Other, plain(forms["other"]))
		}
		if err := all.Set(l.tag, id, said); err != nil {
			return nil, fmt.Errorf("read the page's text %s in %s: %w", id, name, err)
		}
	}
	l.printer = message.NewPrinter(l.tag, message.Catalog(all))
	if money != "" {
		u, err := currency.ParseISO(money)
		if err != nil {
			return nil, fmt.Errorf("unknown currency %q", money)
		}
		l.money = &u
	}
	return l, nil
}

// say returns a text. Ids are built in, so an unknown one is a bug that every test finds.
func (l *lang) say(id string, args ...any) string {
	if _, ok := l.texts[id]; !ok {
		panic("missing page text " + id)
	}
	return l.printer.Sprintf(id, args...)
}

// word returns the translation of a word of the service or of a report, or the word itself if
// unknown.
func (l *lang) word(section, word string) string {
	if _, ok := l.texts[section+"."+word]; ok {
		return l.say(section + "." + word)
	}
	return word
}

func (l *lang) day(t time.Time) string { return l.time("day", t) }

// time writes a time in one of the language's layouts.
func (l *lang) time(layout string, t time.Time) string {
	weekday := t.Weekday().String()[:3]
	return strings.Replace(t.Format(l.say("date."+layout)), weekday, l.say("weekday."+weekday), 1)
}

// length writes the number of days of a period.
func (l *lang) length(p period) string { return l.say("count.days", p.days()) }

// period names the days of a period, the last one included.
func (l *lang) period(p period) string {
	if p.days() == 1 {
		return l.day(p.since)
	}
	return l.say("period.span", l.time("date", p.since), l.time("date", p.until.AddDate(0, 0, -1)))
}

// before names the period before another.
func (l *lang) before(p period) string {
	if p.days() == 1 {
		return l.say("period.day_before")
	}
	return l.say("period.before", l.length(p))
}

// why writes the marks of a call in the report worst.
func (l *lang) why(marks string) string {
	words := strings.Split(marks, ", ")
	for i := range words {
		words[i] = l.word("worst", strings.ReplaceAll(words[i], " ", "_"))
	}
	return strings.Join(words, ", ")
}

// instant writes a time of a report.
func (l *lang) instant(v any, loc *time.Location) string {
	if t, ok := v.(time.Time); ok {
		return l.time("minute", t.In(loc))
	}
	return "–"
}

// grouped writes n with thousands separators.
func (l *lang) grouped(n int64) string { return l.printer.Sprint(n) }

func (l *lang) calls(n int64) string { return l.say("count.calls", n) }

var unitRE = regexp.MustCompile(`(\d)(ms|h|m|s|k|M)\b`)

// units replaces English units in a text with the language's.
func (l *lang) units(s string) string {
	return unitRE.ReplaceAllStringFunc(s, func(m string) string { return m[:1] + l.say("unit."+m[1:]) })
}

// duration writes a duration like tables do.
func (l *lang) duration(ms float64) string {
	return l.units(human.Cell(value.Of(int64(math.Round(ms))), value.Column{Unit: value.Millis, Kind: value.Integer}, nil))
}

// cell writes a value of a column.
func (l *lang) cell(v any, c value.Column, loc *time.Location) string {
	text := human.Cell(value.Of(v), c, loc)
	d, ok := v.(value.Decimal)
	switch {
	case v == nil:
	case c.Unit == value.Millis:
		return l.units(text)
	case c.Unit == value.Money && ok && l.money != nil:
		return l.amount(d)
	}
	return text
}

// amount writes money with the currency's decimals; below one unit with two significant digits,
// since a minute may cost less.
func (l *lang) amount(d value.Decimal) string {
	r := new(big.Rat).SetFrac(d.Units, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil))
	places, _ := currency.Standard.Rounding(*l.money)
	if f, _ := r.Float64(); f != 0 && math.Abs(f) < 1 {
		places = max(places, min(1-int(math.Floor(math.Log10(math.Abs(f)))), int(d.Scale)))
	}
	digits := r.FloatString(places)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "−", digits[1:]
	}
	whole, decimals, _ := strings.Cut(digits, ".")
	n, _ := new(big.Int).SetString(whole, 10)
	text := human.Cell(value.Of(n), value.Column{Unit: value.Count, Kind: value.Integer}, nil)
	if decimals != "" {
		text += "." + decimals
	}
	return sign + l.symbol() + text
}

// symbol returns the currency's prefix; empty: unknown.
func (l *lang) symbol() string {
	if l.money == nil {
		return ""
	}
	s := l.printer.Sprint(currency.NarrowSymbol(*l.money))
	if r := []rune(s); unicode.IsLetter(r[len(r)-1]) { // CHF, kr
		s += "\u00a0"
	}
	return s
}

// axis returns the formatter of an axis.
func (l *lang) axis(s chart.Scale) func(v, step float64) string {
	return func(v, step float64) string {
		text := s.Label(v, step)
		if l.say("unit.k") == "" { // the language has no unit for thousands
			text = s.Full(v, step)
		}
		if text = l.units(text); s == chart.Money && v != 0 {
			text = l.symbol() + text
		}
		return text
	}
}
