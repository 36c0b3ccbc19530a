// Command extract copies an organisation's calls from the service into a local
// warehouse: what is new or changed, within the service's request budget.
package main

import (
	"os"
	"runtime/debug"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd"
)

// Memory is kept small rather than time: the service's limits leave the
// processor idle. GOGC and GOMEMLIMIT in the environment say otherwise.
const (
	gcPercent   = 50
	memoryLimit = 56 << 20 // soft: what Go itself may hold before it collects harder
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	oneArena()
	ctx, stop := cli.Context()
	code := extractcmd.Run(ctx, config.System(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
