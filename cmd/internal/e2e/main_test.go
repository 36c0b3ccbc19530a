package e2e

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
)

// The quick tests try less at random; make long tries rapid's usual 100 times.
func init() {
	if err := flag.Set("rapid.checks", "6"); err != nil {
		panic(err)
	}
}

// TestMain makes the test's binary a program of callhouse when it is called by
// its name, so that no test has to build one.
func TestMain(m *testing.M) {
	run := extractcmd.Run
	switch filepath.Base(os.Args[0]) {
	case "extract":
	case "query":
		run = querycmd.Run
	default:
		// Most tests are about calls, and count the requests for these and their records.
		if err := errors.Join(os.Setenv("CALLHOUSE_RESOURCES", "none"), os.Setenv("CALLHOUSE_TRANSCRIPTS", "v3")); err != nil {
			panic(err)
		}
		os.Exit(testAll(m))
	}
	ctx, stop := cli.Context()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// envCache is set where the folder for what query remembers of a user is already
// one of the tests'.
const envCache = "CALLHOUSE_TEST_CACHE"

// testAll runs the tests, which leave nothing in the user's cache.
func testAll(m *testing.M) int {
	if os.Getenv(envCache) != "" { // a test runs this binary
		return m.Run()
	}
	users, err := os.UserCacheDir()
	if err == nil && os.Getenv("GOCACHE") == "" { // for the test that builds a program
		err = os.Setenv("GOCACHE", filepath.Join(users, "go-build"))
	}
	dir, derr := os.MkdirTemp("", "callhouse-tests-")
	if err := errors.Join(err, derr, os.Setenv(envCache, dir), os.Setenv("XDG_CACHE_HOME", dir)); err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
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
