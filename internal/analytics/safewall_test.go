package analytics

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/test"
)

// Every function of the linked DuckDB has been reviewed: after an upgrade, the golden file shows
// new ones, and whether safe mode allows them.
func TestSafeKnowsEveryFunction(t *testing.T) {
	db, err := duck.Open(duck.Config{Threads: 1})
	test.OK(t, err)
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
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
	w, err := Open(t.Context(), root, Options{Options: opened.Options{Safe: &opened.Limits{Memory: 256 << 20, Temp: 1 << 20}}})
	test.OK(t, err)
	conn, err := w.Connect(t.Context())
	test.OK(t, err)
	defer func() {
		conn.Close()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := w.DefineAll(t.Context(), conn); err != nil { // as for a statement that names them
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, file := range []string{"x.csv", "x.parquet"} {
		test.OK(t, os.WriteFile(filepath.Join(dir, file), []byte("a\n1\n"), 0o644))
	}
	beside := filepath.Join(w.Snapshot().Dir, "calls", "link.csv")
	test.OK(t, os.Symlink(filepath.Join(dir, "x.csv"), beside))
	for text, want := range map[string]string{
		"COPY calls TO '" + out + "'":                                           "disabled",
		"COPY calls TO '" + w.Snapshot().Dir + "/out'":                          "disabled",
		"EXPORT DATABASE '" + out + "'":                                         "disabled",
		"ATTACH '" + out + "' AS x":                                             "disabled",
		"FROM read_csv('" + dir + "/x.csv')":                                    "disabled",
		"FROM '" + dir + "/x.csv'":                                              "",
		"FROM read_csv('" + beside + "')":                                       "disabled",
		"FROM read_text('" + w.Snapshot().Dir + "/../../../x')":                 "disabled",
		"FROM glob('" + dir + "/*')":                                            "disabled",
		"FROM read_csv('https://127.0.0.1:1/x.csv')":                            "",
		"INSTALL httpfs":                                                        "",
		"LOAD httpfs":                                                           "disabled",
		"LOAD '" + dir + "/x.duckdb_extension'":                                 "disabled",
		"SET memory_limit = '100GB'":                                            "locked",
		"SET GLOBAL enable_external_access = true":                              "",
		"SET lock_configuration = false":                                        "locked",
		"RESET lock_configuration":                                              "locked",
		"SET GLOBAL allowed_configs = ['memory_limit']":                         "locked",
		"SET GLOBAL allowed_directories = ['/']":                                "",
		"SET temp_directory = '" + dir + "'":                                    "locked",
		"SET autoload_known_extensions = true":                                  "locked",
		"PRAGMA threads = 64":                                                   "locked",
		"FROM query('FROM ''" + dir + "/x.csv''')":                              "",
		"CREATE MACRO f() AS TABLE FROM read_csv('" + dir + "/x.csv')":          "disabled",
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
