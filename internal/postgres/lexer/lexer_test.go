package lexer_test

import (
	"slices"
	"strings"
	"testing"

	"callhouse/internal/postgres/lexer"
)

// A semicolon separates statements unless it is in a text, a name or a comment.
func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                    nil,
		" ; -- x;\n /* ; /* ; */ ; */ ;":      nil,
		"SELECT 1; SELECT 2;":                 {"SELECT 1", "SELECT 2"},
		`SELECT ';', E'\';', ";""", $$;$$, 1`: {`SELECT ';', E'\';', ";""", $$;$$, 1`},
		"SELECT $a$ $$;$a$;SELECT $1":         {"SELECT $a$ $$;$a$", "SELECT $1"},
		"SELECT 'it''s;' -- ;\n, 1;x":         {"SELECT 'it''s;' -- ;\n, 1", "x"},
		"SELECT 'never ends; x":               {"SELECT 'never ends; x"},
		"SELECT a$1;b":                        {"SELECT a$1", "b"},
	} {
		var got []string
		for _, s := range lexer.Split(text) {
			got = append(got, strings.TrimSpace(s.Text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestForDuckDB(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT a OPERATOR(pg_catalog.~) '^x$' COLLATE pg_catalog.default": "SELECT a  ~  '^x$' ",
		"; SELECT a OPERATOR ( pg_catalog . !~* ) b":                       " SELECT a  !~*  b",
		"SELECT At.x AT TIME ZONE 'UTC' FROM t at, at.u SEMI JOIN v":       "SELECT \"at\".x AT TIME ZONE 'UTC' FROM t \"at\", \"at\".u SEMI JOIN v",
		"SELECT a#>>b, a #> b, a # > b":                                    "SELECT a|->>b, a |-> b, a # > b",
		"SELECT x::pg_catalog.text, pg_catalog.textcat":                    "SELECT x::text, pg_catalog.textcat",
		"SELECT 'x::pg_catalog.text', \"operator\"(pg_catalog.x)":          "SELECT 'x::pg_catalog.text', \"operator\"(pg_catalog.x)",
	} {
		if got := lexer.Split(text)[0].ForDuckDB(); got != want {
			t.Errorf("ForDuckDB(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]string{"'it''s'": "it's", `E'a\tb\'c'`: "a\tb'c", "$x$a$$b$x$": "a$$b", "12": "12"} {
		if got := lexer.Split(text)[0].Tokens[0].Value(); got != want {
			t.Errorf("the value of %s is %q, want %q", text, got, want)
		}
	}
}

// For any input, the tokens are parts of the text, and the lexer terminates.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"SELECT 'a' $$ /* \" E'\\", "'", `"`, "E'", "$a$"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range lexer.Split(text) {
			if !strings.Contains(text, s.Text) || len(s.Tokens) == 0 {
				t.Errorf("Split(%q) has %q", text, s.Text)
			}
			_ = s.ForDuckDB()
			for i := range s.Tokens {
				_, _, _ = s.Tokens[i].Value(), s.Tokens[i].Name(), s.From(i)
			}
		}
	})
}
