package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that the first SIGINT or SIGTERM cancels. From then
// on signals have their usual effect, so that a second one ends the process at
// once.
func Context() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
