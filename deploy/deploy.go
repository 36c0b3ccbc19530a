// Package deploy embeds the examples that extract init installs.
package deploy

import _ "embed" // for the examples

// The systemd units of a nightly run, and its line for /etc/cron.d.
var (
	//go:embed systemd/callhouse.service
	Service string
	//go:embed systemd/callhouse.timer
	Timer string
	//go:embed cron/callhouse
	Cron string
)
