package mcp_test

import (
	"context"
	"os"
	"testing"

	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/cmd/internal/querycmd/safe"
)

// Statements run in a process of this program, here the test's.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == safe.Name {
		os.Exit(querycmd.Run(context.Background(), cmdtest.Child(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	cmdtest.Main(m)
}
