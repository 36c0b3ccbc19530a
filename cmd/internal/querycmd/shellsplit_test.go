package querycmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/test"
)

func isCommand(word string) bool {
	return !slices.Contains([]string{"SELECT", "FROM", "WITH", "EXPLAIN"}, strings.ToUpper(word))
}

// show prints inputs as one line each; an arrow marks an open statement.
func show(inputs []shell.Input) string {
	var out []string
	for _, in := range inputs {
		kind := "sql"
		switch {
		case in.Command:
			kind = "command"
		case in.Open:
			kind = "→ sql"
		}
		out = append(out, strings.ReplaceAll(fmt.Sprintf("%s %d: %s", kind, in.Line, strings.TrimSpace(in.Text)), "\n", "⏎"))
	}
	return strings.Join(out, "\n")
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {" \n;; -- nothing\n", ""}, {"-- not yet a statement", ""},
		{"select 1", "→ sql 1: select 1"},
		{"select 1;", "sql 1: select 1"},
		{"select 1; select 2;\nselect\n3", "sql 1: select 1\nsql 1: select 2\n→ sql 2: select⏎3"},
		{"select ';' as \";\"; select 2", "sql 1: select ';' as \";\"\n→ sql 1: select 2"},
		{"select 'it''s;'", "→ sql 1: select 'it''s;'"},
		{`select E'a\';b';`, `sql 1: select E'a\';b'`},
		{"select 'a\\'; select 2;", "sql 1: select 'a\\'\nsql 1: select 2"},
		{"select $$a;b$$, $x$;$$;$x$;", "sql 1: select $$a;b$$, $x$;$$;$x$"},
		{"select $a; select 1", "sql 1: select $a\n→ sql 1: select 1"},
		{"select 1 -- a; b\n;", "sql 1: select 1 -- a; b"},
		{"select /* ; /* ; */ ; */ 1;", "sql 1: select /* ; /* ; */ ; */ 1"},
		{"select /* ; ", "→ sql 1: select /* ;"},
		{"select 'a\n;\n", "→ sql 1: select 'a⏎;"},
		{"-- why\n/* and\nhow */ select 1;", "sql 3: select 1"},
		{"(select 1);", "sql 1: (select 1)"},
		{".tables", "command 1: .tables"}, {"  .tables ; \n.help\n", "command 1: .tables\ncommand 2: .help"},
		{"sentiment --by day\nselect 1;", "command 1: sentiment --by day\nsql 2: select 1"},
		{"search \"a; b\" 'c;'; select 1;", "command 1: search \"a; b\" 'c;'\nsql 1: select 1"},
		{"select 1;\n\n.read x", "sql 1: select 1\ncommand 3: .read x"},
		{"select\n.5;", "sql 1: select⏎.5"}, // a dot within a statement is no command
		{"selct 1;", "command 1: selct 1"},
		{`\d calls`, `command 1: \d calls`},
		{"select '안녕;' ; from 통화", "sql 1: select '안녕;'\n→ sql 1: from 통화"},
		{"\u3000select\u00a01;", "sql 1: select\u00a01"}, // spaces copied from web pages
		{"/* a */ select 'b", "→ sql 1: select 'b"},
		{"explain select 1;", "sql 1: explain select 1"},
		{"select 1.;select 1.5e3;", "sql 1: select 1.\nsql 1: select 1.5e3"},
	} {
		if got := show(shell.Split(c.text, isCommand)); got != c.want {
			t.Errorf("%q is split into\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

// For any text, inputs are parts of it, and nothing hangs.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"select 'a", `"`, "$$", "$1 ? $x$", "/* /*", "E'\\", "e", "--", "1.2.3", "\xff'\xfe", "안녕$a$", ".x ';", "/**/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, in := range shell.Split(text, isCommand) {
			if in.Text == "" || !strings.Contains(text, in.Text) {
				t.Fatalf("%q: input %q is no part of it", text, in.Text)
			}
		}
		vocabulary().Complete([]rune(text), len([]rune(text)))
	})
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		`search  "credit card" it's ok' "" --by=x "open end`: {"search", "credit card", "its ok", "", "--by=x", "open end"},
		"search 'a;b' c; select 1":                           {"search", "a;b", "c"},
		"search 'a\nb":                                       {"search", "a"},
	} {
		if got, _ := shell.Words(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

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

func open(t *testing.T, file string) *shell.History {
	t.Helper()
	h, err := shell.OpenHistory(file)
	test.OK(t, err)
	return h
}

func add(t *testing.T, h *shell.History, entries ...string) {
	t.Helper()
	for _, e := range entries {
		test.OK(t, h.Add(e))
	}
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "callhouse", "history")
	one, other := open(t, file), open(t, file)
	add(t, one, "select 1;", "select 1;", " ", "select\n'안녕',\t2;\n")
	add(t, other, ".tables")
	want := []string{"select 1;", "select\n'안녕',\t2;", ".tables"}
	if got := open(t, file).Entries(); !slices.Equal(got, want) {
		t.Errorf("the file keeps %q, want %q", got, want)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want it readable by its owner alone", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder is %v, %v", info.Mode(), err)
	}
}

// Lines written by other programs, and truncated ones, are skipped.
func TestHistoryOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	test.OK(t, os.WriteFile(file, []byte("select 1;\n\"a\"\n{}\n\"b"), 0o600))
	if got := open(t, file).Entries(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q", got)
	}
}

func TestHistoryIsCutDown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "\"select %d;\"\n", i)
	}
	test.OK(t, os.WriteFile(file, []byte(b.String()), 0o600))
	open(t, file)
	got := open(t, file).Entries()
	if len(got) != 2000 || got[0] != "select 2000;" || got[1999] != "select 3999;" {
		t.Errorf("%d entries are left, from %s", len(got), got[0])
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// Without a file the history still works.
func TestHistoryNowhere(t *testing.T) {
	h := open(t, "")
	add(t, h, "select 1;")
	blocked := filepath.Join(t.TempDir(), "file")
	test.OK(t, os.WriteFile(blocked, nil, 0o600))
	other, err := shell.OpenHistory(filepath.Join(blocked, "history"))
	if err == nil {
		t.Error("a file was taken for a folder")
	}
	add(t, other, "select 2;")
	if len(h.Entries()) != 1 || len(other.Entries()) != 1 {
		t.Errorf("got %q and %q", h.Entries(), other.Entries())
	}
}
