// Query answers questions about a warehouse of calls: see query --help.
package main

import (
	"os"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd"
)

func main() {
	ctx, stop := cli.Context()
	code := querycmd.Run(ctx, config.System(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
