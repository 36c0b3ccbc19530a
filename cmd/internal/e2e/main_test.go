package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
)

// TestMain makes the test's binary a program of callhouse when it is called by
// its name, so that scripts can run one without it being built again.
func TestMain(m *testing.M) {
	run := extractcmd.Run
	switch filepath.Base(os.Args[0]) {
	case "extract":
	case "query":
		run = querycmd.Run
	default:
		os.Exit(m.Run())
	}
	ctx, stop := cli.Context()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
