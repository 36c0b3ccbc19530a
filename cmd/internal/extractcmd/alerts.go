package extractcmd

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
)

// alertPatience is how long the rules of alerts may take: no night waits longer for them.
const alertPatience = 3 * time.Minute

// alert evaluates the rules of alerts over what was committed, if the setting alerts names some.
// query does it, in a process of its own. A failure is a warning: the next run tries again, and
// status shows it.
func alert(ctx context.Context, s *settings.Settings, log *slog.Logger) {
	if s.Alerts == "" || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, alertPatience)
	defer cancel()
	var printed bytes.Buffer
	said, err := s.AskQuery(ctx, &printed, "alert", "--alerts", s.Alerts, "--tz", s.TZ)
	for line := range strings.Lines(printed.String()) { // of a channel of type stdout
		log.Warn("alert", "text", strings.TrimSpace(line))
	}
	if err != nil {
		log.Warn("alerts: not all evaluated or sent", "error", s.Secrets.Error(err))
		return
	}
	log.Info("alerts", "what", said)
}

// alert evaluates the rules after a run that committed something.
func (n *night) alert(ctx context.Context, err error) {
	if code := cli.Code(err); n.row != nil && (code == cli.ExitOK || code == cli.ExitIncomplete) {
		alert(ctx, n.Settings, n.log)
	}
}

// alerter evaluates the rules after commits of follow, which do not wait for it: commits that come
// meanwhile are followed by one more evaluation.
type alerter struct {
	due chan struct{}
	end func()
}

func newAlerter(ctx context.Context, s *settings.Settings, log *slog.Logger) *alerter {
	ctx, cancel := context.WithCancel(ctx)
	a, done := &alerter{due: make(chan struct{}, 1)}, make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-a.due:
				alert(ctx, s, log)
			case <-ctx.Done():
				return
			}
		}
	}()
	a.end = func() {
		cancel()
		<-done
	}
	return a
}

// committed asks for an evaluation.
func (a *alerter) committed() {
	select {
	case a.due <- struct{}{}:
	default:
	}
}
