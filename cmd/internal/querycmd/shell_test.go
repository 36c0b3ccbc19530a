//go:build linux

package querycmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// The shell in a terminal.
func TestShellInATerminal(t *testing.T) {
	copyWarehouse(t)
	x := start(t, 100, 40, "shell --tz Asia/Seoul")
	x.see("snapshot 000001 of ./warehouse", "8 calls", "Help: help")
	x.ready()
	x.typed("select user_sentiment, count(*) as n")
	x.press(enter)
	x.see("└")
	x.typed("from calls group by all order by n, 1;")
	x.press(enter)
	x.see("negative", "neutral")
	x.ready()
	for _, line := range longtest.Some(6, [][]string{
		{"select agnt_id from calls;", `Referenced column "agnt_id" not found`, "did you mean: agent_id?"},
		{"select * from call_s;", "Table with name call_s does not exist", "did you mean: calls?"},
		{"selct 2;", "syntax error"},
		{"create table t (a int);", "only read-only statements are allowed"},
		{"list", "transcript_turns", "analysis_items", "sentiment"},
		{"describe select 1 as z;", "column_name", "z "},
		{"sentiment --by agent;", "0a7e1f60", "coverage: of 8 calls"},
		{`sentiment --where "user_sentiment=negative" --by 'agent'`, "0a7e1f60"},
		{".tables", `unknown command ".tables"`},
		{"select 'a;b' as x; select max(local_date) as day_in_seoul from calls;", "a;b", "day_in_seoul", "2024-11-20"},
		{"help", "describe [NAME]"},
		{"select i + 70000 as long from range(1002) t(i);", "70999", "… only the first 1,000 rows: use the format csv for all"},
		{"sentiment --tz GMT+9", `unknown time zone "GMT+9"`, "  use a name"}, // Etc/GMT+9 is west of Greenwich
	}) {
		x.run(line[0], line[1:]...)
	}
	x.run("funnel --output f.csv")
	if raw, err := os.ReadFile("f.csv"); err != nil || !strings.HasPrefix(string(raw), "stage,") {
		t.Errorf("f.csv holds %q, %v", raw, err)
	}
	if code := x.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Ctrl-C cancels the running statement or the input, and nothing else.
func TestShellInterrupted(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
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

// Input is in the history of the next session.
func TestShellHistory(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	state := t.TempDir()
	file := filepath.Join(state, "callhouse", "query_history")
	x := start(t, 80, 24, "shell", "XDG_STATE_HOME="+state)
	x.ready()
	x.typed("select 111 as")
	x.press(enter)
	x.typed("first_one;")
	x.press(enter)
	x.see("111")
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
}

// Without a terminal, or where untrusted SQL is expected, the shell does not start.
func TestShellRefuses(t *testing.T) {
	copyWarehouse(t)
	run(t, "select 1;", "shell").reports(t, 2, "query sql -f FILE")
	for _, safe := range []string{"1", "yes please"} {
		t.Setenv("CALLHOUSE_SAFE", safe)
		run(t, "", "shell").reports(t, 2, "query sql --safe")
	}
}
