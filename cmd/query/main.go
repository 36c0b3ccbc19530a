// Command query answers questions about a warehouse of calls: see query --help.
package main

import (
	"context"
	"os"

	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd"
)

func main() {
	os.Exit(querycmd.Run(context.Background(), config.System(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
