package extractcmd

import (
	"context"
	"fmt"

	"callhouse/cmd/internal/cli"
)

// toLake publishes the run's commits if the setting publish is on, and returns the run's error. It
// runs query in a separate process, so that extract stays a small program.
func (n *night) toLake(ctx context.Context, err error) error {
	if code := cli.Code(err); !n.Publish || code != cli.ExitOK && code != cli.ExitIncomplete {
		return err // the next run publishes
	}
	text, failed := n.askQuery(ctx, nil, "publish", "iceberg")
	switch {
	case failed == nil:
		n.log.Info("published", "what", text)
		return err
	case err != nil:
		n.log.Warn("not published", "error", failed)
		return err
	}
	return cli.Fail(cli.ExitIncomplete, fmt.Errorf("committed, but not published: %w", failed),
		"the next run publishes it; to publish now, use query publish iceberg")
}
