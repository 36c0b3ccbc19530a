// Command extract copies new and changed calls of an organisation from the service into a local
// warehouse, within the service's request budget.
package main

import (
	"os"
	"runtime/debug"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd"
)

// Low memory use takes priority over speed: the service's limits leave the processor idle. GOGC and
// GOMEMLIMIT in the environment override this.
const (
	gcPercent   = 50
	memoryLimit = 160 << 20 // soft: above it, Go collects harder. A lower limit spends most of a night over large day files collecting
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := cli.Context()
	code := extractcmd.Run(ctx, config.System(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
