package e2e

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/longtest"
)

func init() { longtest.Checks(6, 30) }

// TestMain makes the test's binary a program of callhouse when it is called by
// its name, so that no test has to build one.
func TestMain(m *testing.M) {
	run := extractcmd.Run
	switch filepath.Base(os.Args[0]) {
	case "extract":
	case "query":
		run = querycmd.Run
	default:
		os.Exit(testAll(m))
	}
	ctx, stop := cli.Context()
	code := run(ctx, cmdtest.Child(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// testAll runs the tests, or the one that is a test's child process.
func testAll(m *testing.M) int {
	defer cmdtest.Seal()()
	// Most tests are about calls, and count the requests for these and their records.
	for name, value := range map[string]string{"CALLHOUSE_RESOURCES": "none", "CALLHOUSE_TRANSCRIPTS": "v3"} {
		if _, set := os.LookupEnv(name); set { // by the test whose child this is
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(400) // the tests hold little; to collect less often still costs more in fresh memory
	code := m.Run()
	if !tellJudged() {
		return 1
	}
	return code
}

// linkProgram puts a program of callhouse, extract or query, into a folder: a link
// to this binary.
func linkProgram(t *testing.T, dir, name string) string {
	t.Helper()
	self, err := os.Executable()
	path := filepath.Join(dir, name)
	if err == nil {
		err = os.Symlink(self, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
