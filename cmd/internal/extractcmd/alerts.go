package extractcmd

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	rules "callhouse/internal/alert"
)

// The limits of an evaluation of the alert rules, so that it holds up neither a night nor the polls of follow.
const (
	alertTimeout  = 3 * time.Minute
	followTimeout = 30 * time.Second
)

// alert evaluates the alert rules over the committed data, if the setting alerts names a rules file.
// It runs query in a separate process. A failure is only a warning: it is a problem in status until
// the rules are evaluated, and the next run tries again.
func alert(ctx context.Context, s *settings, log *slog.Logger, timeout time.Duration) {
	if s.Alerts == "" || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var printed bytes.Buffer
	began := time.Now()
	said, err := s.askQuery(ctx, &printed, "alert", "--alerts", s.Alerts, "--tz", s.TZ)
	for line := range strings.Lines(printed.String()) { // from channels of type stdout
		log.Warn("alert", "text", strings.TrimSpace(line))
	}
	if err == nil {
		log.Info("alerts", "what", said)
		return
	}
	why := s.Secrets.Error(err)
	log.Warn("alerts: not all evaluated or sent", "error", why)
	if err := rules.Miss(s.Warehouse, began, time.Now(), why); err != nil {
		log.Warn("extract status does not show that", "error", s.Secrets.Error(err))
	}
}

// alert evaluates the rules after a run that committed something.
func (n *night) alert(ctx context.Context, err error) {
	if code := cli.Code(err); n.row != nil && (code == cli.ExitOK || code == cli.ExitIncomplete) {
		alert(ctx, n.settings, n.log, alertTimeout)
	}
}
