//go:build linux

package querycmd_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// The shell in a terminal.
func TestShellInATerminal(t *testing.T) {
	house(t)
	x := start(t, 100, 40, "shell")
	x.see("snapshot 000001 of ./warehouse", "8 calls", ".help")

	// Completion, over several lines.
	x.ready()
	x.typed("sele")
	x.press(tab)
	x.see("query> select")
	x.typed(" user_sent")
	x.press(tab)
	x.see("query> select user_sentiment")
	x.typed(", count(*) as n")
	x.press(enter)
	x.see("└")
	x.typed("from cal")
	x.press(tab)
	x.see("from calls")
	x.typed(" group by all order by n, 1;")
	x.press(enter)
	x.see("negative", "neutral", "4 rows, ")
	x.ready()
	x.typed("select agent_")
	x.keys(tab)
	x.see("columns of calls", "agent_version", "id of the agent")
	x.drop()
	x.typed("sentiment --by wee")
	x.keys(tab)
	x.see("weekday") // includes week
	x.drop()

	// Errors come with a suggestion.
	x.run("select agnt_id from calls;", `Referenced column "agnt_id" not found`, "^ did you mean: agent_id?")
	x.run("select * from call_s;", "Table with name call_s does not exist", "did you mean: calls?")
	x.run("selct 2;", `unknown statement or report "selct"`, "did you mean: select?")
	x.run(".tabels", ".tabels is not supported here", "did you mean: .tables?")
	x.run("create table t (a int);", "only read-only statements are allowed")

	// Commands and reports.
	x.run(".schema", "transcript_turns", "analysis_items", "sentiment")
	x.run(`\d costs`, "total_cost")
	x.run("sentiment --by agent;", "0a7e1f60", "coverage: of 8 calls")
	x.run(".tz Asia/Seol", "did you mean: Asia/Seoul?")
	x.run(".tz Asia/Seoul")
	x.run("select max(local_date) as day_in_seoul from calls;", "day_in_seoul", "2024-11-20")
	x.run("select $nobody;", "query sql sets it with --param nobody=VALUE")
	x.run("select i + 70000 as long from range(1002) t(i);", "70999", "… 2 more rows: use .format csv for all")
	x.run(".format json")
	x.run("select 40 + 2 as answer;", `{"answer":42}`)
	x.run(".format parquet", "cannot be printed to a terminal")
	x.run(`\timing off`)
	x.run(`\timezone`, "tz: Asia/Seoul")
	x.run(`\?`, ".schema [NAME]", "connect psql to query serve")
	x.run(`\x`, `\x is not supported here; psql can connect to query serve`)

	// Files.
	x.run(".output out.csv", "writing answers to out.csv as csv")
	x.run("select 1 as a;")
	x.run("select 2 as b;")
	x.run(".output")
	x.run("select 'back' || 'again' as x;", "backagain")
	if raw, err := os.ReadFile("out.csv"); err != nil || string(raw) != "a\r\n1\r\nb\r\n2\r\n" && string(raw) != "a\n1\nb\n2\n" {
		t.Errorf("out.csv holds %q, %v", raw, err)
	}
	if code := x.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Ctrl-C cancels the running statement or the input, and nothing else.
func TestShellInterrupted(t *testing.T) {
	house(t)
	x := start(t, 80, 24, "shell")
	x.ready()
	x.typed("select nothing, at, all")
	x.drop()
	for i := range 5 {
		x.typed("select count(*) from range(10000000000) a, range(10000000000) b;")
		x.press(enter)
		// Cooked mode again: Ctrl-C is a signal, which may come before the statement has started.
		x.wait("the statement's start", func() bool { return x.lflag()&unix.ISIG != 0 })
		x.keys(ctrlC)
		x.wait("the end", func() bool { return strings.Count(x.drawn(), "cancelled") == i+1 })
		x.run("select 'still' || 'here' as x;", "stillhere")
	}
	x.keys("exit" + enter)
	if code := x.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func (x *terminal) lflag() uint32 {
	x.t.Helper()
	state, err := unix.IoctlGetTermios(int(x.tty.Fd()), unix.TCGETS)
	test.OK(x.t, err)
	return state.Lflag
}

// Input is in the history of the next session, except with --no-history.
func TestShellHistory(t *testing.T) {
	house(t)
	state := t.TempDir()
	file := filepath.Join(state, "callhouse", "query_history")
	x := start(t, 80, 24, "shell", "XDG_STATE_HOME="+state)
	x.ready()
	x.typed("select 111 as")
	x.press(enter)
	x.typed("first_one;")
	x.press(enter)
	x.see("1 row, ")
	x.run("select 222 as second_one;", "222")
	x.leave()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the history is %v, %v", info, err)
	}

	x = start(t, 80, 24, "shell", "XDG_STATE_HOME="+state)
	x.ready()
	x.keys(up)
	x.see("query> select 222 as second_one;")
	x.press(up)
	x.see("query> select 111 as\n└      first_one;")
	x.keys(enter)
	x.see("first_one\n─────────\n      111")
	x.ready()
	x.keys(ctrlR)
	x.see("inc-search")
	x.keys("222")
	// The first of the three keys finds it; the last frame is awaited.
	x.see("inc-search): 222_", "query> select 222 as second_one;")
	x.keys(enter)
	x.see("second_one\n──────────\n       222")
	x.ready()
	x.leave()

	before, err := os.ReadFile(file)
	test.OK(t, err)
	x = start(t, 80, 24, "shell --no-history", "XDG_STATE_HOME="+state)
	x.run("select 333 as third;", "333")
	x.keys(up)
	x.see("query> select 333 as third;") // within the session
	x.drop()
	x.leave()
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("--no-history has changed the history to %q, %v", after, err)
	}
}

// A commit between two statements is announced, and the second one reads it.
func TestShellSeesCommits(t *testing.T) {
	house(t)
	x := start(t, 80, 24, "shell")
	x.run("select 500 + count(*) as n from calls;", "508")
	analyticstest.Write(t, "warehouse", 2, analyticstest.Data{Calls: []row{{"call_id": "new", "status": "ended"}}})
	x.keys(enter) // the next prompt announces it
	x.see("snapshot 000002 was committed")
	x.run("select 500 + count(*) as n from calls;", "501")
	x.run("coverage", "transcript there")
	if n := strings.Count(x.drawn(), "was committed"); n != 1 {
		t.Errorf("the commit is told %d times", n)
	}
	x.leave()
}

// Colours can be disabled, and nothing breaks on a small terminal.
func TestShellPlain(t *testing.T) {
	house(t)
	x := start(t, 34, 8, "shell", "NO_COLOR=1")
	x.ready()
	x.typed("select content, role")
	x.press(enter)
	x.typed("from transcript_turns t")
	x.press(enter)
	x.typed("where t.ro")
	x.press(tab)
	x.see("where t.role")
	x.typed(" = 'user' limit 1;")
	x.press(enter)
	x.see("user", "1 row, ")
	x.ready()
	x.typed("select cal")
	x.keys(tab)
	x.see("call_type")
	x.keys(tab)
	x.see("select call_id")
	x.press(ctrlC) // the first one ends the selection
	x.drop()
	x.keys(ctrlR)
	x.see("inc-search")
	x.keys("limit")
	x.see("inc-search): limit", "'user' limit\n")
	x.keys(ctrlC)
	x.wait("the search's end", func() bool { return !strings.Contains(x.shows(), "inc-search") && x.idle() })
	x.press(ctrlC)
	x.ready()
	x.leave()
	if got := regexp.MustCompile("\x1b\\[[0-9;]*(?:3|4|9|10)[0-9][0-9;]*m").FindString(x.drawn()); got != "" {
		t.Errorf("a colour was drawn: %q", got)
	}
}

// Data quoted in an error does not control the terminal.
func TestShellErrorsSteerNothing(t *testing.T) {
	house(t)
	x := start(t, 100, 20, "shell")
	x.run("select error(chr(27) || '[2Jx' || chr(155) || chr(8238));", `\x1b[2Jx\u009b\u202e`)
	x.run("from calls where status = error(chr(27) || ']0;owned' || chr(7));", `\x1b]0;owned\x07`)
	x.leave()
	for _, steers := range []string{"\x1b[2Jx", "\x1b]0;owned", "\u009b", "\u202e"} {
		if strings.Contains(x.drawn(), steers) {
			t.Errorf("the terminal got %q", steers)
		}
	}
}

// A signal that ends the shell leaves the terminal in its original state.
func TestShellTerminated(t *testing.T) {
	house(t)
	x := start(t, 80, 24, "shell")
	x.ready()
	if x.lflag()&unix.ICANON != 0 {
		t.Fatal("the editor reads whole lines")
	}
	test.OK(t, x.cmd.Process.Signal(syscall.SIGTERM))
	if code := x.ends(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("it ended with %d", code)
	}
	if x.lflag()&unix.ICANON == 0 {
		t.Error("the terminal is left raw")
	}
}

// Without a terminal on stdin the shell runs a script.
func TestShellScript(t *testing.T) {
	house(t)
	for _, c := range []struct {
		name, stdin, args string
		code              int
		out, stderr       string
	}{
		{name: "nothing"},
		{name: "statements", stdin: "select 1 as a; select 2\nas b;\nselect 3 as c", out: "a\n1\n\nb\n2\n\nc\n3\n"},
		{name: "format", stdin: "select 1 as a;.format ndjson\nselect 2 as a; select 3 as a;", args: " --format csv", out: "a\n1\n{\"a\":2}\n{\"a\":3}\n"},
		{name: "report", stdin: "funnel --agent 0b --format csv\n", out: "stage,calls,attempted_percent"},
		{name: "error", stdin: "select 1 as a;\n\nselect b;\nselect 3;", args: " --format csv", code: 2, out: "a\n1\n", stderr: "query: line 3: binder error: "},
		{name: "error further down", stdin: "select 1 as a;\nselect call_id,\n  agnt_id\nfrom calls;", args: " --format csv", code: 2, out: "a\n1\n",
			stderr: "query: line 3: binder error: Referenced column \"agnt_id\" not found in FROM clause!\n       did you mean: agent_id?\n"},
		{name: "error in a report", stdin: "\nsentimnt;", code: 2, stderr: "query: line 2: unknown statement or report \"sentimnt\"\n       did you mean: sentiment?"},
		{name: "while it runs", stdin: "select error('no');", code: 1, stderr: "query: line 1: invalid input error: no"},
		{name: "writing", stdin: "drop table calls;", code: 2, stderr: "query: line 1: only read-only statements are allowed"},
		{name: "quit", stdin: "select 1 as a;\n.quit\nselect 2;", out: "a\n1\n"},
		{name: "output", stdin: ".output x.parquet\nselect 1;select 2;", code: 2, stderr: "x.parquet already has an answer"},
		{name: "timer", stdin: ".timer on\nselect 1 as a;", out: "a\n1\n", stderr: "1 row, "},
		{name: "bad flag", args: " --tz Mars", code: 2, stderr: "unknown time zone"},
		{name: "a report's file", stdin: "funnel --output f.csv\nselect 'kept' as a;", out: "a\nkept\n", stderr: "coverage: "},
		{name: "view", stdin: "create temp view a as select 1;", code: 2, stderr: "only read-only statements are allowed"},
		{name: "not there", stdin: "select 1 as a;\n.read x", code: 2, out: "a\n1\n", stderr: "query: line 2: .read is not supported here; psql can connect to query serve\n"},
		{name: "parameter", stdin: "select $a;", code: 2, stderr: "query sql sets it with --param a=VALUE"},
		{name: "no warehouse", stdin: "select 1;", args: " --warehouse nowhere", code: 1, stderr: "no warehouse at nowhere yet"},
		{name: "words", stdin: "select 1;", args: " now", code: 2, stderr: "shell takes no arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, c.stdin, strings.Fields("shell"+c.args)...)
			out := strings.ReplaceAll(got.out, "\r\n", "\n")
			if c.name == "report" {
				out = out[:min(len(out), len(c.out))]
			}
			if got.code != c.code || out != c.out || !strings.Contains(got.stderr, c.stderr) || c.stderr == "" && c.name != "report" && got.stderr != "" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Every statement reads a single commit, the newest at its start, however fast commits follow.
func TestShellWhileCommitting(t *testing.T) {
	longtest.Only(t)
	house(t)
	commit := func(n int64) {
		var d analyticstest.Data
		for i := range n {
			id := fmt.Sprint("c", i)
			d.Calls = append(d.Calls, row{"call_id": id, "status": "ended"})
			d.Turns = append(d.Turns, row{"call_id": id, "turn": int64(0), "role": "agent"})
		}
		analyticstest.Write(t, "warehouse", n, d)
	}
	commit(2)
	stdin, asks := io.Pipe()
	answers, stdout := io.Pipe()
	done := make(chan int)
	var errs strings.Builder
	go func() {
		code := querycmd.Run(t.Context(), cmdtest.Env(), []string{"shell", "--format", "csv"}, stdin, stdout, &errs)
		_ = stdout.Close()
		done <- code
	}()
	read := bufio.NewScanner(answers)
	for n := int64(3); n < 13; n++ {
		go func() {
			_, _ = io.WriteString(asks, "select (select count(*) from calls) as c, (select count(*) from transcript_turns) as t;\n")
		}()
		commit(n)
		read.Scan() // the head
		read.Scan()
		if got := read.Text(); got != fmt.Sprintf("%d,%d", n, n) && got != fmt.Sprintf("%d,%d", n-1, n-1) {
			t.Errorf("while %d was committed the answer is %q", n, got)
		}
	}
	_ = asks.Close()
	if code := <-done; code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
