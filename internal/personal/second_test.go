package personal_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/test"
)

var labelled = regexp.MustCompile(`\{\{([a-z]+)(\*?)\|([^}]*)\}\}`)

// readCorpus returns the conversations of a labelled corpus.
func readCorpus(t *testing.T, name string) (conversations [][]personal.Turn, labels [][]label) {
	t.Helper()
	text := test.Read(t, name)
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

// The recognizers also work on a corpus that they were not tuned on.
func TestSecondCorpus(t *testing.T) {
	t.Parallel()
	f, err := personal.New(personal.Options{Kinds: kinds.All, Countries: []string{"KR", "US"}})
	test.OK(t, err)
	scores := scores{}
	conversations, labels := readCorpus(t, "testdata/second.txt")
	for i, turns := range conversations {
		scores.judge(turns, labels[i], f.Conversation(turns), func(kind, what, text string) {
			t.Logf("%s %s: %q in %q", kind, what, text, turns)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		s := scores[name]
		recall, precision := s.recall(), s.precision()
		t.Logf("%-17s %3d planted, recall %.3f, %3d found, precision %.3f", name, s.planted, recall, s.found, precision)
		if recall < 0.95 || precision < 0.95 {
			t.Errorf("at least 0.95 was wanted of %s", name)
		}
	}
}
