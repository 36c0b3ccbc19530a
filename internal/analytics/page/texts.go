package page

import (
	"embed"
	"fmt"
	"math"
	"math/big"
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

	"callhouse/internal/analytics/value"
)

//go:embed texts/*.toml
var catalogues embed.FS

// Languages returns the languages: one embedded file of texts each.
func Languages() (out []string) {
	files, _ := catalogues.ReadDir("texts") // embedded
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return out
}

// Texts writes the words of the page, and of the pages around it, in one language and currency, and formats numbers, times and
// money for the language.
type Texts struct {
	Tag     language.Tag
	all     map[string]any // a string, or forms by plural category
	printer *message.Printer
	money   *currency.Unit // nil: unknown
}

// percentRE matches placeholders and other percent signs.
var percentRE = regexp.MustCompile(`%\[\d+\][a-z]|%%|%`)

// readTexts returns a language's file.
func readTexts(name string) ([]byte, error) {
	if !slices.Contains(Languages(), name) {
		return nil, fmt.Errorf("unknown language %q", name)
	}
	raw, err := catalogues.ReadFile("texts/" + name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("read the texts: %w", err)
	}
	return raw, nil
}

// NewTexts returns the texts of a language (empty: English) and a currency by ISO 4217 (empty: unknown).
func NewTexts(name, money string) (*Texts, error) {
	if name == "" {
		name = "en"
	}
	raw, err := readTexts(name)
	if err != nil {
		return nil, err
	}
	return textsIn(name, raw, money)
}

// textsIn returns the texts in a language's file.
func textsIn(name string, raw []byte, money string) (*Texts, error) {
	l := &Texts{Tag: language.Make(name)}
	var sections map[string]map[string]any
	if err := toml.Unmarshal(raw, &sections); err != nil {
		return nil, fmt.Errorf("read the texts in %s: %w", name, err)
	}
	l.all = map[string]any{}
	for section, texts := range sections {
		for key, text := range texts {
			l.all[section+"."+key] = text
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
	all := catalog.NewBuilder(catalog.Fallback(l.Tag))
	for id, text := range l.all {
		said := catalog.String(plain(text))
		if forms, ok := text.(map[string]any); ok {
			said = plural.Selectf(1, "%d", plural.One, plain(forms["one"]), plural.Other, plain(forms["other"]))
		}
		if err := all.Set(l.Tag, id, said); err != nil {
			return nil, fmt.Errorf("read the text %s in %s: %w", id, name, err)
		}
	}
	l.printer = message.NewPrinter(l.Tag, message.Catalog(all))
	if money != "" {
		u, err := currency.ParseISO(money)
		if err != nil {
			return nil, fmt.Errorf("unknown currency %q", money)
		}
		l.money = &u
	}
	return l, nil
}

// All returns the texts by id: a string, or a map of forms by plural category.
func (l *Texts) All() map[string]any { return l.all }

// Say returns a text. Ids are built in, so an unknown one is a bug that every test finds.
func (l *Texts) Say(id string, args ...any) string {
	if _, ok := l.all[id]; !ok {
		panic("missing text " + id)
	}
	return l.printer.Sprintf(id, args...)
}

// Word returns the translation of a word of the service or of a report, or the word itself if unknown.
func (l *Texts) Word(section, word string) string {
	if _, ok := l.all[section+"."+word]; ok {
		return l.Say(section + "." + word)
	}
	return word
}

// Day writes a day.
func (l *Texts) Day(t time.Time) string { return l.Time("day", t) }

// Time writes a time in one of the language's layouts.
func (l *Texts) Time(layout string, t time.Time) string {
	weekday := t.Weekday().String()[:3]
	return strings.Replace(t.Format(l.Say("date."+layout)), weekday, l.Say("weekday."+weekday), 1)
}

// Grouped writes n with thousands separators.
func (l *Texts) Grouped(n int64) string { return l.printer.Sprint(n) }

// Calls writes a number of calls.
func (l *Texts) Calls(n int64) string { return l.Say("count.calls", n) }

var unitRE = regexp.MustCompile(`(\d)(ms|h|m|s)\b`)

// Units replaces the English units in a text by those of the language.
func (l *Texts) Units(s string) string {
	return unitRE.ReplaceAllStringFunc(s, func(m string) string { return m[:1] + l.Say("unit."+m[1:]) })
}

// Duration writes a duration as tables do.
func (l *Texts) Duration(ms float64) string {
	return l.Units(value.Cell(value.Of(int64(math.Round(ms))), value.Column{Unit: value.Millis, Kind: value.Integer}, nil))
}

// Cell writes a value of a column.
func (l *Texts) Cell(v any, c value.Column, loc *time.Location) string {
	text := value.Cell(value.Of(v), c, loc)
	d, ok := v.(value.Decimal)
	switch {
	case v == nil:
	case c.Unit == value.Millis:
		return l.Units(text)
	case c.Unit == value.Money && ok && l.money != nil:
		return l.Amount(d)
	}
	return text
}

// HasCurrency reports whether the currency is known.
func (l *Texts) HasCurrency() bool { return l.money != nil }

// Amount writes money with the currency's decimals. Below one unit it has two significant digits,
// since a minute may cost less than the smallest coin.
func (l *Texts) Amount(d value.Decimal) string {
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
	text := value.Cell(value.Of(n), value.Column{Unit: value.Count, Kind: value.Integer}, nil)
	if decimals != "" {
		text += "." + decimals
	}
	return sign + l.Symbol() + text
}

// Symbol returns the currency's prefix; empty: unknown.
func (l *Texts) Symbol() string {
	if l.money == nil {
		return ""
	}
	s := l.printer.Sprint(currency.NarrowSymbol(*l.money))
	if r := []rune(s); unicode.IsLetter(r[len(r)-1]) { // CHF, kr
		s += "\u00a0"
	}
	return s
}

// length writes the number of days of a period.
func (l *Texts) length(p period) string { return l.Say("count.days", p.days()) }

// period writes the days of a period, including the last one.
func (l *Texts) period(p period) string {
	if p.days() == 1 {
		return l.Day(p.since)
	}
	return l.Say("period.span", l.Time("date", p.since), l.Time("date", p.until.AddDate(0, 0, -1)))
}

// before writes the period before another.
func (l *Texts) before(p period) string {
	if p.days() == 1 {
		return l.Say("period.day_before")
	}
	return l.Say("period.before", l.length(p))
}

// why translates the marks of a call in the report worst.
func (l *Texts) why(marks string) string {
	words := strings.Split(marks, ", ")
	for i := range words {
		words[i] = l.Word("worst", strings.ReplaceAll(words[i], " ", "_"))
	}
	return strings.Join(words, ", ")
}

// clip shortens a name to a number of letters, keeping its end: similar names often differ there.
func clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		end := limit / 3
		return string(r[:limit-1-end]) + "…" + string(r[len(r)-end:])
	}
	return s
}

// shortName shortens an id as long as a UUID, and any other name to the available width.
func shortName(s string) string {
	const begin, uuid = 8, 36
	if len(s) == uuid && s[begin] == '-' {
		return s[:begin]
	}
	return clip(s, 40)
}

// sign returns the sign of a difference.
func sign(f float64) string {
	if f < 0 {
		return "−"
	}
	return "+"
}

// signed writes a difference with its sign and one decimal.
func signed(f float64) string { return sign(f) + fmt.Sprintf("%.1f", math.Abs(f)) }
