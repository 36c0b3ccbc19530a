package querycmd_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// envQuery makes TestQueryProcess run query with these arguments, a JSON array.
const envQuery = "CALLHOUSE_TEST_QUERY"

func TestQueryProcess(*testing.T) {
	if text := os.Getenv(envQuery); text != "" {
		var args []string
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			panic(err)
		}
		os.Exit(querycmd.Run(context.Background(), cmdtest.Child(), args, os.Stdin, os.Stdout, os.Stderr))
	}
}

// A statement of --safe takes at most --memory beyond the program, including memory that DuckDB
// does not count. Statements that spill to disk still succeed.
func TestSafeKeepsToItsMemory(t *testing.T) {
	copyWarehouse(t)
	ask := func(memory, statement string) (code int, peak int64, stderr string) {
		t.Helper()
		args, err := json.Marshal([]string{"sql", "--safe", "--timeout", "5m", "--memory", memory, "--format", "csv", statement})
		test.OK(t, err)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestQueryProcess$")
		cmd.Env = append(os.Environ(), envQuery+"="+string(args))
		var errs strings.Builder
		cmd.Stderr = &errs
		err = cmd.Run()
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), usage.Maxrss << 10, errs.String() // the larger of its own and its child's
	}
	const mib = 1 << 20
	code, itself, stderr := ask("512MiB", "SELECT count(*) FROM calls")
	if code != cli.ExitOK {
		t.Fatal(stderr)
	}
	const margin = 100 * mib // for memory that was not resident when the limit was set
	for _, c := range longtest.Some(3, []struct {
		memory    string
		bytes     int64
		statement string
		code      int
	}{
		{"512MiB", 512 * mib, "SELECT len(range(100000000))", cli.ExitFailed}, // 800 MB that DuckDB does not count
		{"128MiB", 128 * mib, "SELECT mode(r % 5000000) FROM range(8000000) t(r)", cli.ExitFailed},
		{"128MiB", 128 * mib, "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY md5(r::VARCHAR)) AS n FROM range(2000000) t(r))", cli.ExitOK},
	}) {
		code, peak, stderr := ask(c.memory, c.statement)
		t.Logf("--memory %s: %d MiB at the most, and %d for the program itself", c.memory, peak/mib, itself/mib)
		if code != c.code || peak > itself+c.bytes+margin {
			t.Errorf("%s with --memory %s: exit code %d, %d MiB\n%s", c.statement, c.memory, code, peak/mib, stderr)
		}
		if code == cli.ExitFailed && !strings.Contains(stderr, "of memory") {
			t.Errorf("%s: %s", c.statement, stderr)
		}
	}
}
