// Command demo shows callhouse at work: it starts the sandbox, runs extract against it, and prints
// three reports of query. The warehouse stays for experiments.
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
