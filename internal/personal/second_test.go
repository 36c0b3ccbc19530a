package personal_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
)

var labelled = regexp.MustCompile(`\{\{([a-z]+)(\*?)\|([^}]*)\}\}`)

// label is a planted value of testdata/second.txt.
type label struct {
	turn, from, to int
	kind           string
	spoken         bool
}

// readCorpus returns the conversations of a labelled corpus.
func readCorpus(t *testing.T, name string) (conversations [][]personal.Turn, labels [][]label) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		var turns []personal.Turn
		var planted []label
		for line := range strings.SplitSeq(paragraph, "\n") {
			speaker, said, ok := strings.Cut(line, "\t")
			if !ok {
				continue
			}
			var b strings.Builder
			at := 0
			for _, m := range labelled.FindAllStringSubmatchIndex(said, -1) {
				b.WriteString(said[at:m[0]])
				l := label{turn: len(turns), from: b.Len(), kind: said[m[2]:m[3]], spoken: m[5] > m[4]}
				b.WriteString(said[m[6]:m[7]])
				l.to, at = b.Len(), m[1]
				planted = append(planted, l)
			}
			b.WriteString(said[at:])
			turns = append(turns, personal.Turn{Speaker: speaker, Text: b.String()})
		}
		if len(turns) > 0 {
			conversations, labels = append(conversations, turns), append(labels, planted)
		}
	}
	return conversations, labels
}

// The recognizers hold on a corpus on which they were not tuned.
func TestSecondCorpus(t *testing.T) {
	t.Parallel()
	f, err := personal.New(personal.Options{Kinds: kinds.All, Countries: []string{"KR", "US"}})
	if err != nil {
		t.Fatal(err)
	}
	scores := map[string]*score{}
	of := func(kind string, spoken bool) *score {
		name := kind + map[bool]string{false: " written", true: " spoken"}[spoken]
		if scores[name] == nil {
			scores[name] = &score{}
		}
		return scores[name]
	}
	conversations, labels := readCorpus(t, "testdata/second.txt")
	for i, turns := range conversations {
		spans := f.Conversation(turns)
		for _, l := range labels[i] {
			s := of(l.kind, l.spoken)
			if s.planted++; slices.ContainsFunc(spans, func(s personal.Span) bool {
				return s.Turn == l.turn && s.From <= l.from && s.To >= l.to && string(s.Kind) == l.kind
			}) {
				s.hit++
			} else {
				t.Logf("%s missed: %q in %q", l.kind, turns[l.turn].Text[l.from:l.to], turns)
			}
		}
		for _, s := range spans {
			at := slices.IndexFunc(labels[i], func(l label) bool { return l.turn == s.Turn && l.from < s.To && l.to > s.From })
			c := of(string(s.Kind), at >= 0 && labels[i][at].spoken)
			if c.found++; at >= 0 && labels[i][at].kind == string(s.Kind) {
				c.right++
			} else {
				t.Logf("%s wrong: %q in %q", s.Kind, turns[s.Turn].Text[s.From:s.To], turns)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		s := scores[name]
		recall, precision := float64(s.hit)/float64(max(1, s.planted)), float64(s.right)/float64(max(1, s.found))
		t.Logf("%-17s %3d planted, recall %.3f, %3d found, precision %.3f", name, s.planted, recall, s.found, precision)
		if recall < 0.95 || precision < 0.95 {
			t.Errorf("at least 0.95 was wanted of %s", name)
		}
	}
}
