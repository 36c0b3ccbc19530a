package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

func init() { longtest.Checks(4, 30) }

// TestMain makes the test's binary act as a program when called by its name, so that no test has to build one.
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

// testAll runs the tests, or the one of a child process.
func testAll(m *testing.M) int {
	defer cmdtest.Seal()()
	// Most tests are about calls, and count only their requests.
	for name, value := range map[string]string{"CALLHOUSE_RESOURCES": "none", "CALLHOUSE_TRANSCRIPTS": "v3"} {
		if _, set := os.LookupEnv(name); set { // by the parent test
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// linkProgram links a program, extract or query, in a folder to this binary.
func linkProgram(t *testing.T, dir, name string) string {
	t.Helper()
	self, err := os.Executable()
	path := filepath.Join(dir, name)
	if err == nil {
		err = os.Symlink(self, path)
	}
	test.OK(t, err)
	return path
}
