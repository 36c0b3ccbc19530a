package mcp_test

import (
	"context"
	"os"
	"testing"

	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/cmd/internal/querycmd/safe"
)

// Statements run in a separate process of this program, here of the test's binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == safe.Name {
		os.Exit(querycmd.Run(context.Background(), cmdtest.Child(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	cmdtest.Main(m)
}
