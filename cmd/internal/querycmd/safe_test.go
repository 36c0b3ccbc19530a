package querycmd_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/isolate"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// safeTemp gives the statements' processes their own temporary folder, and checks that it stays empty.
func safeTemp(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// Safe mode gives the same answers as the usual mode, byte for byte.
func TestSafeAnswers(t *testing.T) {
	copyWarehouse(t)
	safeTemp(t)
	t.Setenv("CALLHOUSE_API_KEY", "a-key-that-must-never-show")
	for _, args := range longtest.Some(15, [][]string{
		{"SELECT status, count(*) FROM calls GROUP BY ALL ORDER BY ALL"},
		{"FROM calls ORDER BY call_id", "--format", "csv", "--tz", "Asia/Seoul"},
		{"FROM transcript_turns ORDER BY ALL", "--format", "json"}, {"FROM calls ORDER BY call_id", "--format", "xlsx"},
		{"SELECT count(*) FROM calls WHERE agent_id = $agent", "--param", "agent=0b7e1f60-0000-4000-8000-00000000000b"},
		{"SELECT selected FROM calls"}, {"SELEC 1"}, {"FROM callz"}, {"SELECT $x"}, {"COPY calls TO 'x'"}, {""}, {"SELECT 1", "--tz", "Mars/Olympus"},
		{"SELECT 1", "--warehouse", "elsewhere"}, {"SELECT CAST('x' AS INTEGER)"}, {"SELECT 1", "--format", "cvs"},
	}) {
		want := run(t, "", append([]string{"sql"}, args...)...)
		got := run(t, "", append([]string{"sql", "--safe"}, args...)...)
		if got != want {
			t.Errorf("%q: in safe mode\n%s\nwithout\n%s", args, got, want)
		}
	}
	r := run(t, "FROM calls", "sql", "--safe", "-", "--output", "calls.parquet")
	again := run(t, "", "sql", "SELECT count(*) AS n FROM 'calls.parquet'", "--format", "csv")
	if r.code != 0 || again.out != "n\n8\n" {
		t.Error(r, again)
	}
}

// Malicious statements end with one clear line and leave nothing behind. The guard's own cases are
// in internal/analytics; these need a separate process with limits.
func TestSafeContains(t *testing.T) {
	copyWarehouse(t)
	safeTemp(t)
	deep := func(open, middle, shut string, n int) string {
		return "SELECT " + strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
	}
	const memory, space, long, nested = "memory", "disk space", "timed out after", "nested too deeply"
	for _, c := range longtest.Some(8, []struct {
		name, text string
		code       int
		want       string
		args       []string
	}{
		{"cross join", "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3", 1, long, []string{"--timeout", "100ms"}},
		{"endless recursion", "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r", 1, long, []string{"--timeout", "100ms"}},
		{"sleep", "SELECT sleep_ms(100000)", 1, long, []string{"--timeout", "100ms"}},
		{"list of numbers", "SELECT range(500000000)", 1, memory, nil},
		{"list resized", "SELECT list_resize([1], 4000000000)", 1, memory, nil},
		{"list repeated", "SELECT len(repeat([1, 2, 3, 4], 500000000))", 1, memory, nil},
		{"huge string", "SELECT len(repeat('x', 3000000000))", 1, memory, nil},
		{"huge row", "SELECT repeat('x', 900000000)", 1, memory, []string{"--format", "json", "--output", "x.json"}},
		{"no room to sort", "SELECT count(DISTINCT s) FROM (SELECT repeat(CAST(hash(range) AS VARCHAR), 5) AS s FROM range(3000000))", 1, space, []string{"--memory", "64MiB", "--temp", "1MiB"}},
		{"deep parentheses", deep("(", "1", ")", 100_000), 2, nested, []string{"-f", "-"}},
		{"deep lists", deep("[", "", "]", 50_000), 2, nested, []string{"-f", "-"}},
		{"deep queries", deep("* FROM (SELECT ", "* FROM calls", ")", 3000), 2, nested, []string{"-f", "-"}},
		{"nested lists", deep("[", "", "]", 900), 1, long, []string{"--timeout", "100ms"}},
		{"long sum", "SELECT " + strings.Repeat("1+", 100_000) + "1", 2, "depth limit", []string{"-f", "-"}},
		{"regexp of many repeats", "SELECT regexp_matches('x', '((((a{1,1000}){1,1000}){1,1000}){1,1000})')", 1, "invalid", nil},
		{"regexp that backtracks elsewhere", "SELECT regexp_matches(repeat('a', 30000), '((a*)*)*b') AS m", 0, "", []string{"--format", "csv"}},
		{"zero byte", "SELECT 1\x00; COPY calls TO 'x'", 2, "zero byte", []string{"-f", "-"}},
		{"long error", "SELECT error(repeat('x', 1100000))", 1, "invalid input error: xxx", nil},
		{"very long error", "SELECT error(repeat('x', 5000000))", 1, "invalid input error: xxx", nil},
		{"long parameter", "SELECT $" + strings.Repeat("x", 1<<20-8), 2, "parameter $xxx", []string{"-f", "-"}},
		{"long answer", "SELECT repeat('x', 1000) FROM range(3000000)", 1, "its answer exceeds 3MiB", []string{"--format", "csv", "--max-output", "3MiB", "--output", "long.csv"}},
		{"long answer in one row", "SELECT repeat('x', 9000000)", 1, "its answer exceeds 3MiB", []string{"--max-output", "3MiB", "--format", "ndjson", "--output", "long.ndjson"}},
		{"large sheet", "SELECT repeat(hash(range)::VARCHAR, 100) FROM range(100000)", 1, "its sheet exceeds 24MiB of disk space", []string{"--memory", "512MiB", "--temp", "24MiB", "--format", "xlsx", "--output", "x.xlsx"}},
		{"sheet as an answer", "FROM calls", 1, "its answer exceeds 1KiB", []string{"--max-output", "1KiB", "--format", "xlsx"}},
		{"two megabytes", "SELECT '" + strings.Repeat("x", 2<<20) + "'", 2, "1 MiB", []string{"-f", "-"}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"sql", "--safe", "--memory", "256MiB"}, c.args...)
			if !strings.Contains(strings.Join(c.args, " "), "-f -") {
				args = append(args, c.text)
			}
			var out, errs bytes.Buffer
			code := querycmd.Run(t.Context(), cmdtest.Env(), args, strings.NewReader(c.text), &out, &errs)
			s := errs.String()
			if code != c.code || !strings.Contains(s, c.want) || strings.Count(s, "\n") > 2 || strings.Contains(s, "goroutine") || len(s) > 10_000 || strings.Contains(s, "%!") || c.code != 0 && !strings.HasPrefix(s, "query: ") {
				t.Errorf("exit code %d, %.2000s", code, s)
			}
			if c.code != 0 && out.Len() > 0 {
				t.Errorf("stdout: %.200q", out.String())
			}
		})
	}
	t.Cleanup(func() {
		if left, err := filepath.Glob("*"); err != nil || len(left) != 1 || left[0] != "warehouse" {
			t.Errorf("half an answer is in --output: %v, %v", left, err)
		}
	})
}

func TestSafeFlags(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	safeTemp(t)
	for _, c := range []struct {
		env, args string
		code      int
		want      string
	}{
		{"", "--memory 1GiB", cli.ExitUsage, "--memory requires --safe"},
		{"", "--safe --memory lots", cli.ExitUsage, "512MiB"},
		{"", "--safe --memory 1KiB", cli.ExitUsage, "too small"},
		{"", "--safe --timeout 0s", cli.ExitUsage, "not a positive duration"},
		{"1", "", cli.ExitUsage, "not allowed in safe mode"},
		{"0", "", 0, ""},
		{"yes please", "", cli.ExitUsage, "CALLHOUSE_SAFE"},
		{"true", "--timeout 1m", cli.ExitUsage, "not allowed in safe mode"},
		{"1", "--safe=false", 0, ""},
	} {
		t.Setenv("CALLHOUSE_SAFE", c.env)
		r := run(t, "", append([]string{"sql", "FROM duckdb_settings()"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("CALLHOUSE_SAFE=%s, %s: %v", c.env, c.args, r)
		}
	}
}

// An answer on stdout ends at the limit, too.
func TestSafeLimitsStdout(t *testing.T) {
	copyWarehouse(t)
	safeTemp(t)
	const text = "SELECT repeat('x', 999) AS x FROM range(3000)"
	r := run(t, "", "sql", "--safe", "--format", "csv", text, "--max-output", "1MiB")
	if r.code != cli.ExitFailed || len(r.out) > 1<<20 || !strings.Contains(r.stderr, "exceeds 1MiB") || !strings.Contains(r.stderr, "--max-output") {
		t.Errorf("exit code %d, %d bytes, %s", r.code, len(r.out), r.stderr)
	}
	if !longtest.On() {
		return
	}
	if r := run(t, "", "sql", "--safe", "--format", "csv", text, "--max-output", "3MiB"); r.code != 0 || len(r.out) != 2+3000*1000 {
		t.Errorf("below the limit: exit code %d, %d bytes, %s", r.code, len(r.out), r.stderr)
	}
}

// torrent is an endless text that fails once far too much of it was read.
type torrent struct {
	head string
	read int
}

func (e *torrent) Read(p []byte) (int, error) {
	if e.read > 32<<20 {
		return 0, io.EOF
	}
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// A statement is read up to one mebibyte, from any source.
func TestLongStatements(t *testing.T) {
	copyWarehouse(t)
	safeTemp(t)
	f, err := os.Create("long.sql")
	test.OK(t, err)
	_, err = f.WriteString("SELECT 1 -- ")
	test.OK(t, err)
	test.OK(t, errors.Join(f.Truncate(1<<20+1), f.Close()))
	for _, args := range []string{"sql -", "sql -f -", "sql", "sql --safe -", "sql -f long.sql", "sql -f /dev/zero"} {
		in := &torrent{head: "SELECT 1 AS one;\nSELECT '"}
		var out, errs bytes.Buffer
		code := querycmd.Run(t.Context(), cmdtest.Env(), strings.Fields(args), in, &out, &errs)
		if code != cli.ExitUsage || !strings.Contains(errs.String(), "exceed 1 MiB") || errs.Len() > 1000 {
			t.Errorf("%s: exit code %d, %.1000s", args, code, errs.String())
		}
		if in.read > 2<<20 {
			t.Errorf("%s: %d bytes are read", args, in.read)
		}
	}
}

// Of the commands only sql runs the user's SQL, and has --safe; the shell does not start with
// CALLHOUSE_SAFE, and mcp runs only safe statements.
func TestCommandsThatRunForeignSQL(t *testing.T) {
	for _, c := range querycmd.Command().Commands() {
		if isSafe := c.Flags().Lookup("safe") != nil; isSafe != (c.Name() == "sql") {
			t.Errorf("query %s: has it --safe? %v", c.Name(), isSafe)
		}
	}
}

// Only query itself can use the hidden command.
func TestSafeCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	run(t, "", isolate.Name).exits(t, cli.ExitUsage)
	if r := run(t, "", "--help"); strings.Contains(r.out, isolate.Name) {
		t.Error("the help shows it")
	}
}

// In safe mode no error contains the warehouse's path, since the user may not be allowed to see it.
func TestSafeErrorsNameNoFolder(t *testing.T) {
	copyWarehouse(t)
	safeTemp(t)
	root, err := filepath.Abs("warehouse")
	test.OK(t, err)
	files, err := filepath.Glob(filepath.Join(root, "snapshots", "*", "calls", "*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		test.OK(t, os.Truncate(f, 10))
	}
	r := run(t, "", "sql", "--safe", "--warehouse", root, "SELECT max(hash(c)) FROM calls c")
	if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "query: snapshots/") || strings.Contains(r.stderr, root) {
		t.Error(r)
	}
}
