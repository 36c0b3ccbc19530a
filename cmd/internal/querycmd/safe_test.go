package querycmd_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd"
)

// safeTemp gives the statements' processes a folder of their own to leave
// something behind in, and checks that they do not.
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

// In safe mode the answers are those of the usual one, byte for byte.
func TestSafeAnswers(t *testing.T) {
	house(t)
	safeTemp(t)
	t.Setenv("CALLHOUSE_API_KEY", "a-key-that-must-never-show")
	for _, args := range [][]string{
		{"SELECT status, count(*) FROM calls GROUP BY ALL ORDER BY ALL"},
		{"FROM calls ORDER BY call_id", "--format", "csv", "--tz", "Asia/Seoul"},
		{"FROM transcript_turns ORDER BY ALL", "--format", "json"},
		{"SELECT count(*) FROM calls WHERE agent_id = $agent", "--param", "agent=0b7e1f60-0000-4000-8000-00000000000b"},
		{"SELECT selected FROM calls"}, {"SELEC 1"}, {"FROM callz"}, {"SELECT $x"}, {"COPY calls TO 'x'"}, {""}, {"SELECT 1", "--tz", "Mars/Olympus"},
		{"SELECT 1", "--warehouse", "elsewhere"}, {"SELECT CAST('x' AS INTEGER)"}, {"SELECT 1", "--format", "cvs"},
	} {
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

// Statements that mean harm end with one clear line, and leave nothing behind.
// The guard's own cases stand in internal/analytics; here is what only a
// process of its own and its limits can hold.
func TestSafeContains(t *testing.T) {
	house(t)
	safeTemp(t)
	deep := func(open, middle, shut string, n int) string {
		return "SELECT " + strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
	}
	const memory, space, long, nested = "memory", "space beside it", "stopped after", "nested too deeply"
	for _, c := range []struct {
		name, text string
		code       int
		want       string
		args       []string
	}{
		{"cross join", "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3", 1, long, []string{"--timeout", "300ms"}},
		{"endless recursion", "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r", 1, long, []string{"--timeout", "300ms"}},
		{"sleep", "SELECT sleep_ms(100000)", 1, long, []string{"--timeout", "300ms"}},
		{"list of numbers", "SELECT range(500000000)", 1, memory, nil},
		{"list resized", "SELECT list_resize([1], 4000000000)", 1, memory, nil},
		{"list repeated", "SELECT len(repeat([1, 2, 3, 4], 500000000))", 1, memory, nil},
		{"huge string", "SELECT len(repeat('x', 3000000000))", 1, memory, nil},
		{"huge row", "SELECT repeat('x', 900000000)", 1, memory, []string{"--format", "json", "--output", "x.json"}},
		{"no room to sort", "SELECT count(DISTINCT s) FROM (SELECT repeat(CAST(hash(range) AS VARCHAR), 5) AS s FROM range(3000000))", 1, space, []string{"--memory", "64MiB", "--temp", "1MiB"}},
		{"deep parentheses", deep("(", "1", ")", 100_000), 2, nested, []string{"-f", "-"}},
		{"deep lists", deep("[", "", "]", 50_000), 2, nested, []string{"-f", "-"}},
		{"deep queries", deep("* FROM (SELECT ", "* FROM calls", ")", 3000), 2, nested, []string{"-f", "-"}},
		{"nested lists", deep("[", "", "]", 900), 1, long, []string{"--timeout", "300ms"}},
		{"long sum", "SELECT " + strings.Repeat("1+", 100_000) + "1", 2, "depth limit", []string{"-f", "-"}},
		{"regexp of many repeats", "SELECT regexp_matches('x', '((((a{1,1000}){1,1000}){1,1000}){1,1000})')", 1, "invalid", nil},
		{"regexp that backtracks elsewhere", "SELECT regexp_matches(repeat('a', 30000), '((a*)*)*b') AS m", 0, "", []string{"--format", "csv"}},
		{"zero byte", "SELECT 1\x00; COPY calls TO 'x'", 2, "zero byte", []string{"-f", "-"}},
		{"two megabytes", "SELECT '" + strings.Repeat("x", 2<<20) + "'", 2, "1 MiB", []string{"-f", "-"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"sql", "--safe", "--memory", "256MiB"}, c.args...)
			if !strings.Contains(strings.Join(c.args, " "), "-f -") {
				args = append(args, c.text)
			}
			var out, errs bytes.Buffer
			code := querycmd.Run(t.Context(), args, strings.NewReader(c.text), &out, &errs)
			s := errs.String()
			if code != c.code || !strings.Contains(s, c.want) || strings.Count(s, "\n") > 2 || strings.Contains(s, "goroutine") || c.code != 0 && !strings.HasPrefix(s, "query: ") {
				t.Errorf("exit code %d, %.2000s", code, s)
			}
			if c.code != 0 && out.Len() > 0 {
				t.Errorf("stdout: %.200q", out.String())
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat("x.json"); err == nil {
			t.Error("half an answer is in --output")
		}
	})
}

func TestSafeFlags(t *testing.T) {
	house(t)
	safeTemp(t)
	for _, c := range []struct {
		env, args string
		code      int
		want      string
	}{
		{"", "--memory 1GiB", cli.ExitUsage, "--memory is a limit of --safe"},
		{"", "--safe --memory lots", cli.ExitUsage, "512MiB"},
		{"", "--safe --memory 1KiB", cli.ExitUsage, "too little"},
		{"", "--safe --timeout 0s", cli.ExitUsage, "no time"},
		{"1", "", cli.ExitUsage, "refused in safe mode"},
		{"true", "--timeout 1m", cli.ExitUsage, "refused in safe mode"},
		{"1", "--safe=false", 0, ""},
		{"0", "", 0, ""},
		{"yes please", "", cli.ExitUsage, "CALLHOUSE_SAFE"},
	} {
		t.Setenv("CALLHOUSE_SAFE", c.env)
		r := run(t, "", append([]string{"sql", "FROM duckdb_settings()"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("CALLHOUSE_SAFE=%s, %s: %v", c.env, c.args, r)
		}
	}
}

// The shell's statements, commands and reports are held as well.
func TestSafeShell(t *testing.T) {
	house(t)
	safeTemp(t)
	for script, want := range map[string]string{
		"SELECT count(*) AS n FROM calls;": "", "sentiment --by agent": "", ".param a 1\nSELECT $a AS a;": "",
		"FROM '/etc/passwd';": "refused in safe mode", "COPY calls TO 'x';": "only statements that read", "SELECT range(500000000);": "memory",
		".output x": ".output is refused", "\\o x": ".output is refused", ".once x": ".output is refused", ".read x": ".read is refused",
		"sentiment --output x": "--output is refused", "sentiment -ox": "-o is refused", "sentiment --output=x": "--output is refused", ".report sentiment -o x": "-o is refused",
		"sentiment --warehouse /": "--warehouse is refused",
	} {
		r := run(t, script, "shell", "--safe", "--memory", "256MiB", "--format", "csv")
		if (r.code == 0) != (want == "") || !strings.Contains(r.stderr, want) || r.code == 0 && r.out == "" {
			t.Errorf("%s: %v", script, r)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a file was written")
	}
}

// The environment makes the shell safe as it does sql.
func TestSafeShellByEnvironment(t *testing.T) {
	house(t)
	safeTemp(t)
	for _, c := range []struct {
		env, script, args string
		code              int
		want              string // on either stream
	}{
		{"1", "FROM '/etc/passwd';", "", cli.ExitUsage, "refused in safe mode"},
		{"1", ".read x", "", cli.ExitUsage, ".read is refused"},
		{"1", "SELECT count(*) AS n FROM calls;", "", 0, "n\n8\n"},
		{"0", "SELECT current_setting('threads') > 0 AS settings;", "", 0, "settings\n"},
		{"1", "SELECT current_setting('threads') > 0 AS settings;", "--safe=false", 0, "settings\n"},
		{"1", "SELECT current_setting('threads') > 0 AS settings;", "", cli.ExitUsage, "refused in safe mode"},
		{"yes please", "SELECT 1;", "", cli.ExitUsage, "CALLHOUSE_SAFE"},
	} {
		t.Setenv("CALLHOUSE_SAFE", c.env)
		r := run(t, c.script, append([]string{"shell", "--format", "csv"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.out+r.stderr, c.want) {
			t.Errorf("CALLHOUSE_SAFE=%s, %s, %s: %v", c.env, c.args, c.script, r)
		}
	}
}

// Ctrl-C ends the statement's process too.
func TestSafeInterrupted(t *testing.T) {
	house(t)
	safeTemp(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var errs bytes.Buffer
	code := querycmd.Run(ctx, []string{"sql", "--safe", "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"},
		strings.NewReader(""), io.Discard, &errs)
	if code != cli.ExitInterrupted || errs.String() != "query: interrupted\n" {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}

// A reader that goes away ends it as well.
func TestSafeBrokenPipe(t *testing.T) {
	house(t)
	safeTemp(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = r.Read(make([]byte, 10))
		_ = r.Close()
	}()
	var errs bytes.Buffer
	code := querycmd.Run(t.Context(), []string{"sql", "--safe", "--format", "csv", "SELECT * FROM range(100000000)"}, strings.NewReader(""), w, &errs)
	if code != cli.ExitOK || errs.Len() > 0 {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// The hidden command is for query itself.
func TestSafeCommandAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	if r := run(t, "", querycmd.SafeCommand); r.code != cli.ExitUsage {
		t.Error(r)
	}
	if r := run(t, "", "--help"); strings.Contains(r.out, querycmd.SafeCommand) {
		t.Error("the help shows it")
	}
	if left, err := filepath.Glob("*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
