// Command sandbox serves a stand-in for the call API: a company's calls, computed from a seed, with
// the service's interface, limits and faults.
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
