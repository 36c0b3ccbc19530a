package personal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/sandbox/plant"
)

// score counts what was planted and found, of a kind.
type score struct{ planted, hit, found, right int }

// The recognizers find what the sandbox plants, and no more: 10,000 lines, half of the exchanges
// near misses.
func TestCorpus(t *testing.T) {
	t.Parallel()
	f, err := personal.New(personal.Options{Kinds: kinds.All, Countries: []string{"KR", "US"}})
	if err != nil {
		t.Fatal(err)
	}
	scores := map[string]*score{}
	of := func(kind string, spoken bool) *score {
		name := kind + " written"
		if spoken {
			name = kind + " spoken"
		}
		if scores[name] == nil {
			scores[name] = &score{}
		}
		return scores[name]
	}
	missed := map[string]int{}
	note := func(format string, args ...any) {
		kind := fmt.Sprint(args[0])
		if missed[kind]++; missed[kind] <= 6 {
			t.Logf(format, args...)
		}
	}
	lines := 0
	for seed := uint64(0); lines < 10_000; seed++ {
		x := plant.Draw(seed, seed%2 == 0)
		lines += len(x.Lines)
		var turns []personal.Turn
		for _, l := range x.Lines {
			turns = append(turns, personal.Turn{Speaker: fmt.Sprint(l.Agent), Text: l.Text})
		}
		spans := f.Conversation(turns)
		for _, l := range x.Labels {
			s := of(l.Kind, l.Spoken)
			s.planted++
			if slices.ContainsFunc(spans, func(s personal.Span) bool {
				return s.Turn == l.Line && s.From <= l.From && s.To >= l.To && string(s.Kind) == l.Kind
			}) {
				s.hit++
			} else {
				note("%s missed: %q in %q: %v", l.Kind, x.Lines[l.Line].Text[l.From:l.To], turns, spans)
			}
		}
		for _, s := range spans {
			spoken, right := false, false
			for _, l := range x.Labels {
				if l.Line == s.Turn && l.From <= s.To && l.To >= s.From {
					spoken, right = l.Spoken, l.Kind == string(s.Kind) && s.From >= l.From && s.To <= l.To
				}
			}
			c := of(string(s.Kind), spoken)
			c.found++
			if right {
				c.right++
			} else {
				note("%s wrong: %q in %q", s.Kind, turns[s.Turn].Text[s.From:s.To], turns)
			}
		}
	}
	var table strings.Builder
	for _, k := range plant.Kinds {
		least := 0.0
		switch k {
		case "card", "rrn", "business", "iban":
			least = .98
		case "phone", "email":
			least = .95
		}
		for _, how := range []string{" written", " spoken"} {
			s := scores[k+how]
			if s == nil {
				continue
			}
			recall, precision := float64(s.hit)/float64(max(s.planted, 1)), float64(s.right)/float64(max(s.found, 1))
			fmt.Fprintf(&table, "%-18s planted %4d  recall %.4f  precision %.4f\n", k+how, s.planted, recall, precision)
			if recall < least || precision < least {
				t.Errorf("%s: recall %.4f, precision %.4f, want %.2f", k+how, recall, precision, least)
			}
		}
	}
	t.Logf("%d lines\n%s", lines, table.String())
}
