package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/value"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

var placeholderRE = regexp.MustCompile(`%\[(\d+)\][a-z]|%%`)

// holes returns the placeholders of a text, in all its forms.
func holes(text any) []string {
	forms, ok := text.(map[string]any)
	if !ok {
		forms = map[string]any{"other": text}
	}
	var out []string
	for _, form := range forms {
		for _, m := range placeholderRE.FindAllString(fmt.Sprint(form), -1) {
			if m != "%%" {
				out = append(out, m)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Every language has the same texts as English, with the same placeholders, and every fact of the report coverage.
func TestLanguagesHaveTheSameTexts(t *testing.T) {
	for _, name := range Languages() {
		l, err := NewTexts(name, "")
		test.OK(t, err)
		for id, text := range english(t).All() {
			other, ok := l.All()[id]
			if !ok {
				t.Errorf("%s lacks %s", name, id)
			} else if d := cmp.Diff(holes(text), holes(other)); d != "" {
				t.Errorf("%s: %s takes other values (-en +%s):\n%s", name, id, name, d)
			}
		}
		for id := range l.All() {
			if _, ok := english(t).All()[id]; !ok {
				t.Errorf("%s has %s, English has not", name, id)
			}
		}
		facts, _ := sqlfiles.Report("coverage")
		for _, m := range regexp.MustCompile(`(?:'fact': |NULL, 2\d, )'([^']+)'`).FindAllStringSubmatch(facts.SQL, -1) {
			if _, ok := l.All()["fact."+m[1]]; !ok {
				t.Errorf("%s has no word for the fact %q", name, m[1])
			}
		}
	}
}

// marked returns a language with each text between ⟦ and ⟧.
func marked(t *testing.T, name string) *Texts {
	t.Helper()
	raw, err := readTexts(name)
	test.OK(t, err)
	var sections map[string]map[string]any
	test.OK(t, toml.Unmarshal(raw, &sections))
	mark := func(text string) string {
		out, at := "", 0
		wrap := func(s string) {
			if s != "" {
				s = "⟦" + s + "⟧"
			}
			out += s
		}
		for _, m := range placeholderRE.FindAllStringIndex(text, -1) {
			wrap(text[at:m[0]])
			out, at = out+text[m[0]:m[1]], m[1]
		}
		wrap(text[at:])
		return out
	}
	for section, texts := range sections {
		for id, text := range texts {
			if forms, ok := text.(map[string]any); ok {
				for form := range forms {
					forms[form] = mark(fmt.Sprint(forms[form]))
				}
			} else if section != "date" {
				texts[id] = mark(fmt.Sprint(text))
			}
		}
	}
	raw, err = toml.Marshal(sections)
	test.OK(t, err)
	l, err := textsIn(name, raw, "KRW")
	test.OK(t, err)
	return l
}

// seen returns the texts of a page for people, without commands, and without data other than names in its tables.
func seen(t *testing.T, text string) (out []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	hidden := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		test.OK(t, err)
		switch e := tok.(type) {
		case xml.StartElement:
			if e.Name.Local == "style" || e.Name.Local == "code" || e.Name.Local == "q" {
				hidden++
			}
			for _, a := range e.Attr {
				if a.Name.Local == "aria-label" {
					out = append(out, a.Value)
				}
			}
		case xml.EndElement:
			if e.Name.Local == "style" || e.Name.Local == "code" || e.Name.Local == "q" {
				hidden--
			}
		case xml.CharData:
			if s := strings.TrimSpace(string(e)); s != "" && hidden == 0 {
				out = append(out, s)
			}
		}
	}
}

// Every text of a page is from the catalogue, and the Korean page has no English except for names
// from the data, the service and our programs.
func TestEveryTextIsOfTheCatalogue(t *testing.T) {
	longtest.Only(t)
	data := regexp.MustCompile(`UTC|callhouse|\b[0-9a-f]{8}\b|a_reason_that_is_longer_than_any_other|a feeling nobody kno(ws|…)|a feelin…|find_order|\bbook\b|\d+(년|월|일)`)
	theirs := regexp.MustCompile(`ms|%p|\bextract\b`)
	piece, letters, latin := regexp.MustCompile(`⟦[^⟦⟧]*(⟧|$)`), regexp.MustCompile(`\pL`), regexp.MustCompile(`[A-Za-z]+`)
	korean := marked(t, "ko")
	now := instant(t, "2026-11-20T06:00:00Z")
	millis := func(s string) int64 { return instant(t, s).UnixMilli() }
	busy := lively(t)
	busy.Coverage = []schema.Span{{From: 0, To: millis("2026-11-01T00:00:00Z")}, {From: millis("2026-11-01T03:00:00Z"), To: now.UnixMilli()}}
	busy.Calls = append(busy.Calls, row{"call_id": "undated", "status": "queued"})
	busy.Runs = []row{{"run_id": "20261119T000000Z-00000001", "started_at": int64(1), "calls_set_aside": int64(9), "total_count": int64(5)}}
	quiet := analyticstest.Data{Coverage: []schema.Span{{From: 0, To: millis("2026-11-18T02:10:00Z")}},
		Calls: []row{{"call_id": "c1", "status": "ended", "start_at": millis("2026-11-17T10:00:00Z")}}}
	for name, c := range longtest.Sorted(map[string]struct {
		analyticstest.Data
		o Options
	}{"agent": {busy, Options{Agent: "00000001"}}, "busy": {busy, Options{}}, "quiet": {quiet, Options{Since: instant(t, "2026-11-17T00:00:00Z")}}, "empty": {analyticstest.Data{Coverage: []schema.Span{}}, Options{}}}, 4) {
		root := t.TempDir()
		analyticstest.Write(t, root, 1, c.Data)
		w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Threads: 1}})
		test.OK(t, err)
		defer w.Close()
		c.o.Now, c.o.Texts = now, korean
		var out bytes.Buffer
		_, err = Write(t.Context(), &out, w, c.o)
		test.OK(t, err)
		wellFormed(t, out.String())
		all := seen(t, out.String())
		if name == "busy" && len(all) < 500 || !strings.Contains(out.String(), `<html lang="ko">`) {
			t.Errorf("%s: %d texts: %.200s", name, len(all), out.String())
		}
		for _, s := range all {
			if rest := data.ReplaceAllString(piece.ReplaceAllString(s, ""), ""); letters.MatchString(rest) {
				t.Errorf("%s: %q is not of the catalogue: %q", name, rest, s)
			}
			if rest := latin.FindString(theirs.ReplaceAllString(data.ReplaceAllString(strings.NewReplacer("⟦", "", "⟧", "").Replace(s), ""), "")); rest != "" {
				t.Errorf("%s: the Korean page says %q in %q", name, rest, s)
			}
			if strings.Contains(s, "%!") {
				t.Errorf("%s: a text lacks a value: %q", name, s)
			}
		}
	}
}

// Amounts have the decimals of their currency, and prices below one as many as necessary.
func TestMoney(t *testing.T) {
	for _, c := range []struct{ lang, currency, amount, want string }{
		{"en", "", "1234.5000", "1,234.50"}, {"en", "USD", "1234.5000", "$1,234.50"}, {"ko", "KRW", "1234.5000", "₩1,235"}, {"en", "KRW", "78.4000", "₩78"},
		{"en", "USD", "0.0712", "$0.071"}, {"en", "USD", "0.5000", "$0.50"}, {"ko", "KRW", "0.0712", "₩0.071"}, {"en", "JPY", "-1234.0000", "−¥1,234"}, {"en", "EUR", "9.9999", "€10.00"},
		{"en", "BHD", "1.0000", "BHD\u00a01.000"}, {"en", "USD", "0.0000", "$0.00"}, {"ko", "KRW", "0.0000", "₩0"},
	} {
		l, err := NewTexts(c.lang, c.currency)
		test.OK(t, err)
		units, _ := new(big.Int).SetString(strings.Replace(c.amount, ".", "", 1), 10)
		if got := l.Cell(value.Decimal{Units: units, Scale: 4}, value.Column{Unit: value.Money, Kind: value.Exact}, time.UTC); got != c.want {
			t.Errorf("%s in %s, %s: %q, want %q", c.amount, c.currency, c.lang, got, c.want)
		}
	}
}

// Dates are written as usual in each language.
func TestDates(t *testing.T) {
	at := instant(t, "2026-11-01T09:05:00Z")
	for name, want := range map[string]string{
		"en": "Sun 2026-11-01; 2026-11-01 09:05; 2026-11; 2026-11-01 to 2026-11-30; 30 days; 1m 30s",
		"ko": "2026년 11월 1일 (일); 2026년 11월 1일 09:05; 2026년 11월; 2026년 11월 1일 ~ 2026년 11월 30일; 30일; 1분 30초",
	} {
		l, err := NewTexts(name, "")
		test.OK(t, err)
		p := period{since: instant(t, "2026-11-01T00:00:00Z"), until: instant(t, "2026-12-01T00:00:00Z"), loc: time.UTC}
		got := strings.Join([]string{l.Day(at), l.Time("minute", at), l.Time("month", at), l.period(p), l.length(p), l.Duration(90_000)}, "; ")
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
