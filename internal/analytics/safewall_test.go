package analytics

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// Every function of the linked DuckDB has been reviewed: after an upgrade, the golden file shows
// new ones, and whether safe mode allows them.
func TestSafeKnowsEveryFunction(t *testing.T) {
	db, err := duck.Open(duck.Config{Threads: 1})
	test.OK(t, err)
	defer func() { test.OK(t, db.Close()) }()
	conn, err := db.Connect()
	test.OK(t, err)
	defer conn.Close()
	rows, err := conn.Query(t.Context(), "SELECT DISTINCT function_type, function_name FROM duckdb_functions() WHERE internal ORDER BY ALL")
	test.OK(t, err)
	var functions [][2]string
	for {
		row, err := rows.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		test.OK(t, err)
		functions = append(functions, [2]string{row[0].(string), row[1].(string)})
	}
	rows.Close()
	name := regexp.MustCompile(`^\w+$`)
	var b strings.Builder
	for _, f := range functions {
		kind, fn := f[0], f[1]
		if !name.MatchString(fn) || kind == "pragma" || strings.HasPrefix(fn, "icu_collate_") || strings.HasPrefix(fn, "__internal_") {
			continue
		}
		text := "SELECT " + fn + "()"
		if strings.HasPrefix(kind, "table") {
			text = "FROM " + fn + "()"
		}
		var unsafe *guard.UnsafeError
		verdict := "passes"
		if errors.As(reads(t, conn, text), &unsafe) {
			verdict = "refused"
		}
		b.WriteString(kind + " " + fn + " " + verdict + "\n")
	}
	test.Golden(t, "testdata/safe-functions.golden", b.String())
}

// Behind the guard is a second barrier: statements that the guard allows by mistake fail in DuckDB,
// whose settings are locked.
func TestSealedDatabaseRefuses(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: []analyticstest.Row{{"call_id": "c1"}}})
	w, err := Open(t.Context(), root, Options{Options: database.Options{Safe: &database.Limits{Memory: 256 << 20, Temp: 1 << 20}}})
	test.OK(t, err)
	conn, err := w.Connect(t.Context())
	test.OK(t, err)
	defer func() {
		conn.Close()
		test.OK(t, w.Close())
	}()
	if err := w.DefineFor(t.Context(), conn, database.AnyStatement); err != nil { // as for a statement that names them
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, file := range []string{"x.csv", "x.parquet"} {
		test.OK(t, os.WriteFile(filepath.Join(dir, file), []byte("a\n1\n"), 0o644))
	}
	neighbour := filepath.Join(w.Snapshot().Dir, "calls", "link.csv")
	test.OK(t, os.Symlink(filepath.Join(dir, "x.csv"), neighbour))
	for text, want := range map[string]string{
		"COPY calls TO '" + out + "'": "disabled", "COPY calls TO '" + w.Snapshot().Dir + "/out'": "disabled",
		"EXPORT DATABASE '" + out + "'": "disabled", "ATTACH '" + out + "' AS x": "disabled",
		"FROM read_csv('" + dir + "/x.csv')": "disabled", "FROM '" + dir + "/x.csv'": "", "FROM read_csv('" + neighbour + "')": "disabled",
		"FROM read_text('" + w.Snapshot().Dir + "/../../../x')": "disabled", "FROM glob('" + dir + "/*')": "disabled",
		"FROM read_csv('https://127.0.0.1:1/x.csv')": "", "INSTALL httpfs": "", "LOAD httpfs": "disabled",
		"LOAD '" + dir + "/x.duckdb_extension'": "disabled", "SET memory_limit = '100GB'": "locked",
		"SET GLOBAL enable_external_access = true": "", "SET lock_configuration = false": "locked", "RESET lock_configuration": "locked",
		"SET GLOBAL allowed_configs = ['memory_limit']": "locked", "SET GLOBAL allowed_directories = ['/']": "",
		"SET temp_directory = '" + dir + "'": "locked", "SET autoload_known_extensions = true": "locked", "PRAGMA threads = 64": "locked",
		"FROM query('FROM ''" + dir + "/x.csv''')": "", "CREATE MACRO f() AS TABLE FROM read_csv('" + dir + "/x.csv')": "disabled",
		"CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y', REGION 'z')":         "",
		"FROM read_parquet('" + w.Snapshot().Dir + "/runs/../../../x.parquet')": "disabled",
	} {
		err := conn.Exec(t.Context(), text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
	if err := conn.Exec(t.Context(), "SET TimeZone = 'Asia/Seoul'; FROM calls"); err != nil {
		t.Errorf("the zone, and the warehouse's own tables: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("files were written: %v, %v", left, err)
	}
}

var everyForm = flag.Int("every-form", 4, "with -long, write each of DuckDB's relations in every n-th form only")

// harmless are the plan operators that read only the warehouse's files, the statement's own values, or nothing.
var harmless = strings.Fields(`READ_PARQUET DUMMY_SCAN EMPTY_RESULT CTE_SCAN DELIM_GET EXPRESSION_GET COLUMN_DATA_GET CHUNK_GET RANGE GENERATE_SERIES UNNEST
	JSON_EACH JSON_TREE SUMMARY REPEAT REPEAT_ROW PG_TIMEZONE_NAMES PROJECTION FILTER AGGREGATE LIMIT ORDER_BY TOP_N WINDOW DISTINCT CROSS_PRODUCT
	COMPARISON_JOIN DELIM_JOIN ANY_JOIN ASOF_JOIN POSITIONAL_JOIN DEPENDENT_JOIN UNION EXCEPT INTERSECT CTE REC_CTE PIVOT UNPIVOT`)

var (
	operatorRE    = regexp.MustCompile(`"name": "([^"]+)"`)
	explainsRE    = regexp.MustCompile(`^EXPLAIN (ANALYZE )?(\(FORMAT json\) )?`)
	showsTablesRE = regexp.MustCompile(`(?i)(DESCRIBE|SHOW|SUMMARIZE) tables\b`) // those of the warehouse, even if another object has that name
	describesRE   = regexp.MustCompile(`(DESCRIBE|SHOW) (FROM )?`)               // their plans hold the answer, not its source
)

// reached returns what DuckDB's plan of a statement reads besides the warehouse's files; bound is
// false if DuckDB cannot plan it.
func reached(t *testing.T, judge *duck.Conn, text string) (out []string, bound bool) {
	t.Helper()
	text = describesRE.ReplaceAllString(explainsRE.ReplaceAllString(text, ""), "FROM ")
	for _, row := range answers(t, judge, "EXPLAIN (FORMAT json) "+text) {
		bound = true
		if row[0] != "logical_plan" {
			continue // optimized plans omit what is unused
		}
		for _, m := range operatorRE.FindAllStringSubmatch(row[1].(string), -1) {
			if name := strings.TrimSpace(m[1]); !slices.Contains(harmless, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out, bound
}

// answers returns the rows of a statement, none if DuckDB refuses it.
func answers(t *testing.T, conn *duck.Conn, text string) (out [][]any) {
	t.Helper()
	rows, err := conn.Query(t.Context(), text)
	var d *duck.Error
	if errors.As(err, &d) {
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	for {
		row, err := rows.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, slices.Clone(row))
	}
}

// openAll opens a warehouse, with every definition that a statement may name.
func openAll(t *testing.T, root string, o Options) *duck.Conn {
	t.Helper()
	return openUntil(t, t.Cleanup, root, o)
}

func openUntil(t *testing.T, end func(func()), root string, o Options) *duck.Conn {
	t.Helper()
	o.Threads = 1
	w, err := Open(t.Context(), root, o)
	test.OK(t, err)
	conn, err := w.Connect(t.Context())
	if err == nil {
		err = w.DefineFor(t.Context(), conn, database.AnyStatement)
	}
	test.OK(t, err)
	end(func() {
		conn.Close()
		if err := w.Close(); err != nil {
			panic(err)
		}
	})
	return conn
}

// AtEnd are called when all tests are over.
var AtEnd []func()

var paired []*duck.Conn

// pair opens one warehouse twice, once for all tests: in safe mode, and with full plans. Every table
// has a row, because DuckDB omits empty tables from plans.
func pair(t *testing.T) (held, judge *duck.Conn) {
	t.Helper()
	if paired != nil {
		return paired[0], paired[1]
	}
	root, err := os.MkdirTemp("", "pair")
	test.OK(t, err)
	AtEnd = append(AtEnd, func() { _ = os.RemoveAll(root) })
	analyticstest.Write(t, root, 1, analyticstest.Data{
		Calls: []analyticstest.Row{{"call_id": "c1"}}, Turns: []analyticstest.Row{{"call_id": "c1", "turn": int64(0)}},
		Items: []analyticstest.Row{{"call_id": "c1", "position": int64(0)}}, Runs: []analyticstest.Row{{"run_id": "r1"}},
	})
	later := func(end func()) { AtEnd = append(AtEnd, end) }
	held = openUntil(t, later, root, Options{Options: database.Options{Safe: &database.Limits{Memory: 256 << 20, Temp: 1 << 20}}})
	judge = openUntil(t, later, root, Options{})
	test.OK(t, judge.Exec(t.Context(), "SET explain_output = 'all'"))
	paired = []*duck.Conn{held, judge}
	return held, judge
}

// For every relation that DuckDB knows and every spelling of its name, either the statement is
// refused, or DuckDB's plan reads only the warehouse's files.
func TestSafeReachesNothingElse(t *testing.T) {
	longtest.Only(t)
	held, judge := pair(t)
	var relations []analyticstest.Relation
	for _, row := range answers(t, judge, `SELECT database_name, schema_name, view_name FROM duckdb_views() UNION SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL`) {
		r := analyticstest.Relation{Database: row[0].(string), Schema: row[1].(string), Name: row[2].(string)}
		if r.Database != "memory" || r.Name == "calls" || r.Name == "transcript_turns" { // two of our own suffice
			relations = append(relations, r)
		}
	}
	statements, refused, seen, foreign, allowed := 0, 0, 0, 0, 0
	for at, r := range relations {
		ours, step := r.Database == "memory", *everyForm
		if ours {
			step = max(1, step/24) // they are few
		}
		if !ours {
			foreign++
			if out, _ := reached(t, judge, r.In("FROM C.S.T")); len(out) > 0 {
				seen++
			}
		}
		for i, form := range slices.Concat(analyticstest.RelationForms, analyticstest.AsText) {
			if i%step != at%step {
				continue
			}
			text := r.In(form)
			statements++
			err := reads(t, held, text)
			if err != nil {
				refused++
			}
			if err != nil && !ours {
				continue
			}
			out, bound := reached(t, judge, text)
			switch {
			case err == nil && len(out) > 0 && !showsTablesRE.MatchString(text):
				t.Errorf("%s passes, and reads %v", text, out)
			case err != nil && ours && bound && len(out) == 0 && i < len(analyticstest.RelationForms):
				t.Errorf("%s is refused (%v), and reads the warehouse alone", text, err)
			case err == nil && ours && bound:
				allowed++
			}
		}
	}
	t.Logf("%d statements over %d relations, of which %d are DuckDB's and %d of them are seen by the judge; %d are refused, %d read the warehouse",
		statements, len(relations), foreign, seen, refused, allowed)
	if statements < 4000 / *everyForm || seen < 30 || allowed < 30 {
		t.Error("too little was tried, or the judge is blind")
	}
}

// reads returns the reason why a statement is not safe.
func reads(t *testing.T, conn *duck.Conn, text string) error {
	_, err := guard.Check{Safe: true}.Text(t.Context(), conn, text)
	return err
}

// A function that is refused in its plain form, which the golden file shows, is refused in every
// other form, and no function allowed in FROM reads more than its arguments.
func TestSafeRefusesFunctionsInEveryForm(t *testing.T) {
	held, judge := pair(t)
	refused := func(text string) bool {
		var unsafe *guard.UnsafeError
		return errors.As(reads(t, held, text), &unsafe)
	}
	statements := 0
	for _, row := range longtest.Some(8, answers(t, judge, `SELECT DISTINCT function_name, function_type FROM duckdb_functions() WHERE internal AND function_type <> 'pragma'
		AND NOT starts_with(function_name, 'icu_collate_') AND NOT starts_with(function_name, '__internal_') ORDER BY ALL`)) {
		name, kind := row[0].(string), row[1].(string)
		forms := analyticstest.FunctionForms
		if strings.HasPrefix(kind, "table") {
			forms = analyticstest.TableFunctionForms
		}
		in := func(form, arguments string) string {
			statements++
			return strings.NewReplacer(`"F"`, sqltext.Ident(name), "(A)", arguments).Replace(form)
		}
		if plain := in(forms[0], "('x')"); refused(plain) {
			for i, form := range forms {
				if i%2 == 1 {
					name = strings.ToUpper(name)
				}
				if text := in(form, "('x')"); !refused(text) {
					t.Errorf("%s passes, and %s does not", text, plain)
				}
			}
			continue
		}
		if kind == "scalar" || kind == "aggregate" {
			continue // their plans do not show what they read; review them when the golden file changes
		}
		for _, arguments := range []string{"()", "('x')", "(1)", "('x', 'x')", "(1, 1)", "('x', 'x', 'x')"} {
			text := in(forms[0], arguments)
			if out, _ := reached(t, judge, text); len(out) > 0 {
				t.Errorf("%s passes, and reads %v", text, out)
			}
		}
	}
	t.Logf("%d statements", statements)
	if statements < 50 || longtest.On() && statements < 500 {
		t.Error("too little was tried")
	}
}
