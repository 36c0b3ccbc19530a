package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"callhouse/internal/loopback"
	"callhouse/internal/postgres"
)

func TestMain(m *testing.M) { loopback.Main(m) }

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
		for _, s := range postgres.Split(text) {
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
		if got := postgres.Split(text)[0].ForDuckDB(); got != want {
			t.Errorf("ForDuckDB(%q) = %q, want %q", text, got, want)
		}
	}
}

// A word after an expression, before the next one or the end of the list, is a label.
func TestLabels(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT max(a) cost, count(*) n, b c, 1 Value":                                      `SELECT max(a) AS "cost", count(*) AS "n", b AS "c", 1 AS "value"`,
		"SELECT x::text t, y::numeric(9,2) name, z::timestamp with time zone zone FROM r s": `SELECT x::text AS "t", y::numeric(9,2) AS "name", z::timestamp with time zone AS "zone" FROM r s`,
		"SELECT a /* b */ type -- c\n, 'x' key, $1 p, 1.5 \"Q\" FROM r":                     "SELECT a /* b */ AS \"type\" -- c\n, 'x' AS \"key\", $1 AS \"p\", 1.5 \"Q\" FROM r",
		"SELECT (SELECT 1 a FROM b c) d UNION SELECT 2 e ORDER BY e DESC":                   `SELECT (SELECT 1 AS "a" FROM b c) AS "d" UNION SELECT 2 AS "e" ORDER BY e DESC`,
		"SELECT CASE WHEN a THEN b ELSE c END, CASE d WHEN 1 THEN 2 END end FROM e":         `SELECT CASE WHEN a THEN b ELSE c END, CASE d WHEN 1 THEN 2 END AS "end" FROM e`,
		"SELECT a[1] first, f(b) FILTER (WHERE c d) OVER w left FROM e WINDOW w AS ()":      `SELECT a[1] AS "first", f(b) FILTER (WHERE c d) OVER w AS "left" FROM e WINDOW w AS ()`,
		"WITH q AS (SELECT 1 source) SELECT source FROM q":                                  `WITH q AS (SELECT 1 AS "source") SELECT source FROM q`,
	} {
		if got := postgres.Split(text)[0].ForDuckDB(); got != want {
			t.Errorf("ForDuckDB(%q) = %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"SELECT a AS b, c FROM d e", "SELECT DISTINCT a FROM b", "SELECT DISTINCT ON (a) b, c FROM d", "SELECT ALL a", "SELECT a IS NULL, b IS NOT TRUE, NOT c",
		"SELECT a AND b, c LIKE d, e NOT IN (f), g BETWEEN h AND i FROM j", "SELECT a IS NOT DISTINCT FROM b, c IS DISTINCT FROM d FROM e",
		"SELECT interval '1' day, a::double precision, b::character varying, c::timestamp with time zone FROM d", "SELECT a AT TIME ZONE zone FROM b",
		"SELECT extract(year FROM a), count(*) OVER w FROM b WINDOW w AS ()", "SELECT a FROM b name WHERE c GROUP BY d", "SELECT a COLLATE b, c.d FROM e",
		"VALUES (1, 2)", "SELECT a FROM (b JOIN c key ON d)", "SELECT * EXCLUDE a FROM b", "SELECT a - INTERVAL 7 DAYS, INTERVAL '2' hours, b GLOB c FROM d", "SELECT DISTINCT a, b - c, current_date FROM d", "COPY a TO STDOUT csv",
	} {
		if got := postgres.Split(text)[0].ForDuckDB(); got != text {
			t.Errorf("ForDuckDB(%q) = %q", text, got)
		}
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]string{"'it''s'": "it's", `E'a\tb\'c'`: "a\tb'c", "$x$a$$b$x$": "a$$b", "12": "12"} {
		if got := postgres.Split(text)[0].Tokens[0].Value(); got != want {
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
		for _, s := range postgres.Split(text) {
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
