package querycmd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"callhouse/cmd/internal/querycmd/shell"
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
