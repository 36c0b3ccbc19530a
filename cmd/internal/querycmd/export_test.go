package querycmd_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

type exportManifest struct {
	Snapshot int64
	Format   string
	Files    []struct {
		Name, Kind, Path, SHA256 string
		Remarks                  []string
		Rows, Bytes              int64
		Columns                  []struct{ Name, Type, Unit string }
	}
}

// exportOf reads an export's manifest and checks it.
func exportOf(t *testing.T, dir string) exportManifest {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	test.OK(t, err)
	var m exportManifest
	test.OK(t, json.Unmarshal(raw, &m))
	entries, err := os.ReadDir(dir)
	test.OK(t, err)
	if len(entries) != len(m.Files)+1 {
		t.Errorf("%s holds %v, its manifest tells of %d files", dir, entries, len(m.Files))
	}
	var types, described []string // of the Parquet files
	for _, f := range m.Files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Path))
		test.OK(t, err)
		sum := sha256.Sum256(raw)
		if int64(len(raw)) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 || len(f.Columns) == 0 {
			t.Errorf("%s is not what the manifest says: %+v", f.Path, f)
		}
		for _, c := range f.Columns {
			types = append(types, f.Path+" "+c.Type)
		}
		described = append(described, "SELECT '"+f.Path+" ' || column_type AS type FROM (DESCRIBE FROM '"+filepath.Join(dir, f.Path)+"')")
	}
	if m.Format == "parquet" {
		got := ask(t, "SELECT 1", "SELECT string_agg(type, ', ') FROM ("+strings.Join(described, " UNION ALL ")+")")
		test.Same(t, strings.Join(types, ", "), got.(string), "the columns (-manifest +files)")
	}
	return m
}

func names(m exportManifest) string {
	var out []string
	for _, f := range m.Files {
		out = append(out, f.Kind+" "+f.Path)
	}
	return strings.Join(out, ", ")
}

func TestExport(t *testing.T) {
	copyWarehouse(t)
	if r := run(t, "", "export", "out"); r.code != 0 || r.out != "" || !strings.Contains(r.stderr, fmt.Sprint(len(sqlfiles.Views()), " files")) {
		t.Fatal(r)
	}
	m := exportOf(t, "out")
	var want []string
	for _, v := range sqlfiles.ViewsByName() {
		want = append(want, "table "+v.Name+".parquet")
	}
	if got := names(m); got != strings.Join(want, ", ") {
		t.Errorf("the export holds %s, want %s", got, want)
	}
	if m.Snapshot != 1 || m.Format != "parquet" {
		t.Errorf("manifest: %+v", m)
	}
	if n := ask(t, "SELECT 1", "SELECT count(*) FROM 'out/calls.parquet'"); n != int64(8) {
		t.Errorf("%v calls in the file, want 8", n)
	}

	// Other files replace the old ones.
	r := run(t, "", "export", "out", "--tables", "calls,costs", "--reports", "costs,sentiment,anomalies", "--by", "agent", "--format", "csv", "--since", "2024-11-19", "--until", "2024-11-20")
	r.exits(t, 0)
	m = exportOf(t, "out")
	if got, want := names(m), "table calls.csv, table costs.csv, report costs_report.csv, report sentiment.csv, report anomalies.csv"; got != want {
		t.Errorf("the export holds %s, want %s", got, want)
	}
	if m.Files[0].Rows != 3 || m.Files[1].Rows != 3 {
		t.Errorf("%d calls and %d costs of the day, want 3 each", m.Files[0].Rows, m.Files[1].Rows)
	}
	if !strings.Contains(strings.Join(m.Files[3].Remarks, ""), "wait") {
		t.Errorf("the manifest does not tell what sentiment lacks: %q", m.Files[3].Remarks)
	}
	report := run(t, "", "sentiment", "--by", "agent", "--since", "2024-11-19", "--until", "2024-11-20", "--format", "csv")
	if raw, err := os.ReadFile("out/sentiment.csv"); err != nil || string(raw) != report.out {
		t.Errorf("the report is another in the export: %v\n%s\n%s", err, raw, report.out)
	}

	r = run(t, "", "export", "agent", "--agent", "0a", "--tables", "calls,transcript_turns,runs")
	m = exportOf(t, "agent")
	if r.code != 0 || m.Files[0].Rows != 4 || m.Files[1].Rows != 5 {
		t.Errorf("of one agent: %v, %+v", r, m)
	}
	if left, err := filepath.Glob(".*.tmp*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A failing export leaves the old one, and nothing else.
func TestExportFailing(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	run(t, "", "export", "out", "--tables", "calls").exits(t, 0)
	test.OK(t, os.Mkdir("mine", 0o755))
	test.OK(t, os.WriteFile("mine/notes.txt", nil, 0o644))
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", cli.ExitUsage, "export requires DIR"}, {"a b", cli.ExitUsage, "takes one DIR, got 2"}, {"a --output b", cli.ExitUsage, "as DIR, without --output"},
		{"out --tables callz", cli.ExitUsage, "did you mean: calls?"}, {"out --reports sentimnt", cli.ExitUsage, "did you mean: sentiment?"},
		{"out --reports search", cli.ExitUsage, "unknown report \"search\""}, {"out --format table", cli.ExitUsage, "cannot write the format"}, {"out --agent 0", cli.ExitUsage, "several agents"},
		{"out --by agnet --reports sentiment", cli.ExitUsage, "did you mean: agent?"},
		{"mine", cli.ExitUsage, "notes.txt"}, {"mine/notes.txt", cli.ExitFailed, "not a directory"}, {"no/such/out", cli.ExitFailed, "no such file"}, {"out --warehouse elsewhere", cli.ExitFailed, "no warehouse"},
	} {
		r := run(t, "", append([]string{"export"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("export %s: %v", c.args, r)
		}
	}
	if m := exportOf(t, "out"); names(m) != "table calls.parquet" {
		t.Errorf("the export changed: %s", names(m))
	}
	for _, pattern := range []string{".*.tmp*", "mine/.*", "a*", "no"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// A name from an unset variable is not the current folder.
func TestExportWithoutAName(t *testing.T) {
	copyWarehouse(t)
	test.OK(t, os.WriteFile("thesis.txt", nil, 0o644))
	for _, args := range [][]string{{""}, {" "}, {"\t"}, {"--output", ""}, {"--output", "-"}, {"--output", "\t"}} {
		run(t, "", append([]string{"export", "--tables", "costs"}, args...)...).reports(t, cli.ExitUsage, "DIR")
	}
	if _, err := os.Stat("thesis.txt"); err != nil {
		t.Error(err)
	}
}

// What others put into the folder during an export is not deleted with the old export.
func TestExportKeepsWhatAppears(t *testing.T) {
	longtest.Only(t) // two programs at once; TestExportFailing has the rest
	copyWarehouse(t)
	for range 2 { // the second time, there is an older export
		// The folder of the next export appears, hidden, after the old one was checked.
		made := make(chan error, 1)
		go func() {
			for until := time.Now().Add(time.Minute); time.Now().Before(until); {
				if tmp, err := filepath.Glob(".out.*.tmp/calls.parquet"); err != nil || len(tmp) > 0 {
					made <- errors.Join(err, os.MkdirAll("out", 0o755), os.WriteFile("out/notes.txt", []byte("mine"), 0o644))
					return
				}
				time.Sleep(time.Millisecond) // many files follow this one
			}
			made <- errors.New("no export began")
		}()
		r := run(t, "", "export", "out")
		test.OK(t, <-made)
		if raw, err := os.ReadFile("out/notes.txt"); r.code != cli.ExitUsage || string(raw) != "mine" || !strings.Contains(r.stderr, "notes.txt") {
			t.Fatalf("%v, notes.txt: %q, %v", r, raw, err)
		}
		test.OK(t, os.Remove("out/notes.txt"))
		run(t, "", "export", "out", "--tables", "costs").exits(t, cli.ExitOK)
	}
}

// modes returns the modes of a path and everything below, each once.
func modes(t *testing.T, path string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(path, func(_ string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if mode := fmt.Sprintf("%o", info.Mode().Perm()); err == nil && !slices.Contains(out, mode) {
			out = append(out, mode)
		}
		return err
	})
	test.OK(t, err)
	return strings.Join(out, " ")
}

// Output contains calls, so only its owner may read it, unless an existing mode says otherwise.
func TestModesOfWhatIsMade(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	try := func(path, want string, args ...string) {
		t.Helper()
		if r := run(t, "", args...); r.code != 0 {
			t.Errorf("%v: %v", args, r)
		} else if got := modes(t, path); got != want {
			t.Errorf("%v makes modes %s, want %s", args, got, want)
		}
	}
	try("e", "700 600", "export", "e")
	test.OK(t, errors.Join(os.Mkdir("open", 0o700), os.Chmod("open", 0o755), os.WriteFile("open.csv", nil, 0o600), os.Chmod("open.csv", 0o644)))
	try("open", "755 644", "export", "open", "--tables", "calls")
	try("open", "755 644", "export", "open", "--reports", "sentiment", "--format", "csv-excel")
	try("q.csv", "600", "sql", "FROM calls", "--output", "q.csv")
	try("open.csv", "644", "sql", "FROM calls", "--output", "open.csv")
	try("s.csv", "600", "sentiment", "--output", "s.csv")
	try("r.html", "600", "report", "--since", "2024-11-02", "--until", "2024-11-03", "--output", "r.html")
}

// A workbook, from every command with formats.
func TestXLSX(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	for name, c := range map[string][]string{
		"a.xlsx": {"[sql about] [[statement SELECT 1] [zone UTC]", "sql", "SELECT 1", "-o", "a.xlsx"}, "b.xlsx": {"[sql about] [[statement", "sql", "--safe", "SELECT 1", "-o", "b.xlsx"},
		"c.xlsx": {"[sentiment about] [[name sentiment]", "sentiment", "--by", "day", "-o", "c.xlsx"}, "d.xlsx": {"[Sheet1] []", "list", "-o", "d.xlsx"},
		"e/costs.xlsx": {"[costs about] [[name costs]", "export", "e", "--format", "xlsx", "--reports", "costs"}} {
		run(t, "", c[1:]...).exits(t, 0)
		file, err := excelize.OpenFile(name)
		test.OK(t, err)
		rows, _ := file.GetRows("about")
		if got := fmt.Sprint(file.GetSheetList(), rows); !strings.HasPrefix(got, c[0]) {
			t.Errorf("%s: %s", name, got)
		}
		test.OK(t, file.Close())
	}
	if m := exportOf(t, "e"); names(m) != "report costs.xlsx" {
		t.Errorf("%+v", m)
	}
	run(t, "", "sql", "FROM range(1048576)", "-o", "full.xlsx").reports(t, cli.ExitUsage, "1,048,576 rows", "csv-excel")
}

// CSV for spreadsheets, on stdout, in safe mode and in a file.
func TestCSVForSpreadsheets(t *testing.T) {
	copyWarehouse(t)
	const text, points, commas = "SELECT '=1+1' AS a, -1.5 AS b", "\ufeffa,b\r\n\"=\"\"=1+1\"\"\",-1.5\r\n", "\ufeffa;b\r\n\"=\"\"=1+1\"\"\";-1,5\r\n"
	for _, args := range longtest.Some(4, [][]string{{"--format", "csv-excel", "--decimal", ".", "-o", "x.json"}, {"--format", "csv-excel"},
		{"--format", "csv-excel", "--safe"}, {"--format", "csv-excel", "-o", "x.json"}, {"--format", "csv-excel", "--decimal=,", "--safe"},
		{"--format", "csv-excel", "--decimal", ","}}) {
		want := points
		if strings.Contains(strings.Join(args, ""), ",") {
			want = commas
		}
		r := run(t, "", append([]string{"sql", text}, args...)...)
		if args[len(args)-1] == "x.json" {
			raw, err := os.ReadFile("x.json")
			test.OK(t, err)
			r.out = string(raw)
		}
		if r.code != 0 || r.out != want {
			t.Errorf("%v: %v", args, r)
		}
	}
	if r := run(t, "", "sql", text, "--format", "csv"); r.out != "a,b\n=1+1,-1.5\n" {
		t.Errorf("plain CSV is exact: %v", r)
	}
	run(t, "", "export", "e", "--tables", "calls", "--format", "csv-excel", "--decimal", ",").exits(t, 0)
	raw, err := os.ReadFile("e/calls.csv")
	if m := exportOf(t, "e"); err != nil || m.Format != "csv-excel" || names(m) != "table calls.csv" || !strings.HasPrefix(string(raw), "\ufeffcall_id;") {
		t.Errorf("%+v, %v, %.40s", m, err, raw)
	}
	for _, args := range [][]string{{"sql", text, "--decimal", ","}, {"sql", text, "-o", "x.csv", "--decimal", ","}, {"export", "e", "--format", "xlsx", "--decimal", ","}, {"export", "e", "--decimal", ","}} {
		run(t, "", args...).reports(t, cli.ExitUsage, "--decimal is for csv-excel")
	}
	run(t, "", "sql", text, "--format", "csv-excel", "--decimal", ";").reports(t, cli.ExitUsage, "neither a point nor a comma")
}
