// Command demo shows callhouse at work, from calls behind a rate-limited API to
// answers: it starts the sandbox, runs extract against it, and asks query for
// three reports. The warehouse stays behind for playing.
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
