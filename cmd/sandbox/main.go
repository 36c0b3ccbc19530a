// Command sandbox serves the call API's stand-in: a company's calls, computed
// from a seed, behind the service's own interface, limits and faults.
package main

import (
	"os"

	"callhouse/cmd/internal/cli"
)

func main() {
	ctx, stop := cli.Context()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
