// Command extract copies an organisation's calls from the service into a local
// warehouse: what is new or changed, within the service's request budget.
package main

import (
	"os"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd"
)

func main() {
	ctx, stop := cli.Context()
	code := extractcmd.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
