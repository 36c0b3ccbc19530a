package querycmd_test

import (
	"strings"
	"testing"

	"callhouse/cmd/internal/querycmd/shell"
)

func candidates(words ...string) (out []shell.Candidate) {
	for _, w := range words {
		out = append(out, shell.Candidate{Text: w})
	}
	return out
}

func vocabulary() *shell.Vocabulary {
	follows := map[string][]shell.Candidate{".timer": candidates("on", "off"),
		"sentiment": candidates("--by", "--since"), "--by": candidates("day", "week")}
	return &shell.Vocabulary{
		Tables: []shell.Table{
			{Candidate: shell.Candidate{Text: "calls"}, Columns: candidates("call_id", "agent_id", "start_at")},
			{Candidate: shell.Candidate{Text: "transcript_turns"}, Columns: candidates("call_id", "content", "start_at")},
		},
		Functions: []string{"abs", "count", "starts_with"},
		Keywords:  []string{"SELECT", "FROM", "WHERE", "AS", "AND"}, Starts: []string{"SELECT", "FROM"},
		Commands:  candidates("sentiment", ".tables", ".timer"),
		IsCommand: isCommand,
		Follow: func(words []string) []shell.Candidate {
			if of, ok := follows[words[len(words)-2]]; ok {
				return of
			}
			return follows[words[0]]
		},
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct{ text, word, want string }{
		{"|", "", "SELECT FROM sentiment .tables .timer"},
		{"s|", "s", "select sentiment"},
		{"S|", "S", "SELECT sentiment"},
		{"select c|", "c", "call_id content calls count("},
		{"select c| from transcript_turns", "c", "call_id content calls count("},
		{"select | from transcript_turns", " ", "call_id content start_at calls transcript_turns"},
		{"SELECT a| FROM calls", "a", "agent_id abs( as and"},
		{"SELECT A| FROM calls", "A", "agent_id abs( AS AND"},
		{"select count(|", "(", "call_id agent_id start_at content calls transcript_turns"},
		{"select * from |", " ", "calls transcript_turns stored."},
		{"select * from tr|", "tr", "transcript_turns"},
		{"select * from stored.c|", "c", "calls"},
		{"select calls.|", ".", "call_id agent_id start_at"},
		{"select t.c| from transcript_turns t", "c", "call_id content"},
		{"select t.c| from calls join transcript_turns AS t", "c", "call_id content"},
		{"select x.c| from calls", "c", ""},
		{"select start| from calls", "start", "start_at starts_with("},
		{"select 'ca|", "", ""}, {"select 1 -- ca|", "", ""}, {"select /* ca|", "", ""},
		{"select 1; se|", "se", "select sentiment"},
		{"select 1;\nselect\n  ag|\nfrom calls", "ag", "agent_id"},
		{".t|", ".t", ".tables .timer"}, {".timer |", " ", "on off"}, {".timer of|", "of", "off"}, {".nothing |", " ", ""},
		{"sentiment |", " ", "--by --since"}, {"sentiment --b|", "--b", "--by"},
		{"sentiment --by |", " ", "day week"}, {"sentiment --by w|", "w", "week"},
		{"sentiment --since 7d --by d|", "d", "day"},
		{"sentiment --by day; se|", "se", "select sentiment"}, {"sentiment --by day\nse|", "se", "select sentiment"},
		{`\t|`, `\t`, ""}, {"\\dt\nsel|", "sel", "select"}, {`\dt; from |`, " ", "calls transcript_turns stored."},
		{"select é|", "é", ""},
	} {
		before, after, _ := strings.Cut(c.text, "|")
		word, candidates := vocabulary().Complete([]rune(before+after), len([]rune(before)))
		var got []string
		for _, x := range candidates {
			got = append(got, x.Text)
			if !strings.HasPrefix(strings.ToLower(x.Before+x.Text), strings.ToLower(word)) {
				t.Errorf("%s: %q does not begin with %q", c.text, x.Before+x.Text, word)
			}
		}
		if s := strings.Join(got, " "); s != c.want || len(candidates) > 0 && word != c.word {
			t.Errorf("%s: %q may become %s\nwant %q: %s", c.text, word, s, c.word, c.want)
		}
	}
}
