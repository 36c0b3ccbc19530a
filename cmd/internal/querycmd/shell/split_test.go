package shell_test

import (
	"slices"
	"strings"
	"testing"

	"callhouse/cmd/internal/querycmd/shell"
)

func isCommand(word string) bool {
	return !slices.Contains([]string{"SELECT", "FROM", "WITH", "EXPLAIN"}, strings.ToUpper(word))
}

// show writes inputs as one line each; the rest follows an arrow.
func show(inputs []shell.Input, rest shell.Input) string {
	var out []string
	for _, in := range append(inputs, rest) {
		kind := "sql"
		if in.Command {
			kind = "command"
		}
		if in != (shell.Input{}) {
			out = append(out, strings.ReplaceAll(kind+" "+string(rune('0'+in.Line))+": "+in.Text, "\n", "⏎"))
		}
	}
	if rest.Text != "" {
		out[len(out)-1] = "→ " + out[len(out)-1]
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
		{"select 1 -- a; b\n;", "sql 1: select 1 -- a; b⏎"},
		{"select /* ; /* ; */ ; */ 1;", "sql 1: select /* ; /* ; */ ; */ 1"},
		{"select /* ; ", "→ sql 1: select /* ;"},
		{"select 'a\n;\n", "→ sql 1: select 'a⏎;"},
		{"-- why\n/* and\nhow */ select 1;", "sql 3: select 1"},
		{"(select 1);", "sql 1: (select 1)"},
		{".tables", "command 1: .tables"}, {"  .tables ; \n.help\n", "command 1: .tables\ncommand 2: .help"},
		{"sentiment --by day\nselect 1;", "command 1: sentiment --by day\nsql 2: select 1"},
		{"search \"a; b\" 'c;'; select 1;", "command 1: search \"a; b\" 'c;'\nsql 1: select 1"},
		{"select 1;\n\n.read x", "sql 1: select 1\ncommand 3: .read x"},
		{"select\n.5;", "sql 1: select⏎.5"}, // a dot inside of a statement is none of ours
		{"selct 1;", "command 1: selct 1"},
		{`\d calls`, `command 1: \d calls`},
		{"select '안녕;' ; from 통화", "sql 1: select '안녕;' \n→ sql 1: from 통화"},
		{"explain select 1;", "sql 1: explain select 1"},
		{"select 1.;select 1.5e3;", "sql 1: select 1.\nsql 1: select 1.5e3"},
	} {
		if got := show(shell.Split(c.text, isCommand)); got != c.want {
			t.Errorf("%q is split into\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

// Whatever is typed: every byte is in a token or is space, and nothing hangs.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"select 'a", `"`, "$$", "$1 ? $x$", "/* /*", "E'\\", "e", "--", "1.2.3", "\xff'\xfe", "안녕$a$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, tok := range shell.Tokens(text) {
			if tok.From < at || tok.To <= tok.From || tok.To > len(text) || strings.TrimSpace(text[at:tok.From]) != "" {
				t.Fatalf("%q: token %+v after %d", text, tok, at)
			}
			at = tok.To
		}
		if strings.TrimSpace(text[at:]) != "" {
			t.Fatalf("%q: no token from %d on", text, at)
		}
		inputs, rest := shell.Split(text, isCommand)
		for _, in := range append(inputs, rest) {
			if !strings.Contains(text, in.Text) {
				t.Fatalf("%q: input %q is no part of it", text, in.Text)
			}
		}
		shell.Words(text)
	})
}

func TestWords(t *testing.T) {
	got := shell.Words(`search  "credit card" it's ok' "" --by=x "open end`)
	want := []string{"search", "credit card", "its ok", "", "--by=x", "open end"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParams(t *testing.T) {
	got := shell.Params("select $a, '$b', $$ $c $$, $2 -- $d\n from t where x = $agent_id")
	want := map[string]bool{"a": true, "2": true, "agent_id": true}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for name := range want {
		if !got[name] {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
