package extractcmd

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/status"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
)

// heartbeatEvery is how often the metrics are rewritten during a run.
const heartbeatEvery = time.Minute

// heartbeat writes the metrics of a run in progress, now and every minute until stop is called.
func (n *night) heartbeat() (stop func()) {
	if n.metricsPath() == "" {
		return func() {}
	}
	beat := func() {
		n.write(&status.Metrics{Now: n.Now(), Running: true, Started: n.started, Profile: n.Profile, Secrets: n.Secrets})
	}
	beat()
	return cli.Every(heartbeatEvery, beat)
}

// publish writes the metrics of a run that ended with err. A run that found the warehouse locked does
// not overwrite the metrics of the run that holds it; neither does a run with invalid settings while
// another is in progress.
func (n *night) publish(err error) {
	if n.metricsPath() == "" || cli.Code(err) == cli.ExitLocked {
		return
	}
	if !n.held {
		if _, held, werr := disk.Who(n.Warehouse); held || werr != nil {
			return
		}
	}
	m := &status.Metrics{Now: n.Now(), Profile: n.Profile, Secrets: n.Secrets, Started: n.started,
		Code: cli.Code(err), Last: n.row, Report: n.rep, Failures: len(n.failures)}
	if m.Last == nil {
		m.Last = &schema.Run{ID: n.id, StartedAt: n.started.UnixMilli(), Outcome: schema.OutcomeFailed}
	}
	n.write(m)
}

// write writes the metrics file atomically. An error is only a warning.
func (n *night) write(m *status.Metrics) {
	h, err := sink.ReadHistory(n.Warehouse)
	if err != nil {
		h = new(sink.History) // an unreadable warehouse still has a last run
	}
	if err := prometheus.WriteToTextfile(n.metricsPath(), m.Gather(h)); err != nil {
		n.log.Warn("cannot write the metrics", "error", err)
	}
}
