package extractcmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"callhouse/internal/words"
)

// next prints what to do next: the first run, and how to start one every night.
func (i *initial) next(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	units, ctl := "~/.config/systemd/user", "systemctl --user"
	if os.Geteuid() == 0 {
		units, ctl = "/etc/systemd/system", "systemctl"
	}
	name := func(name string) string {
		path := filepath.Join(filepath.Dir(program), name)
		if found, err := exec.LookPath(name); err == nil && found == path {
			return name
		}
		return words.Shell(path)
	}
	with := ""
	if i.target != i.Env.Own && i.target != i.Env.Machine {
		with = " --config " + words.Shell(i.target)
	}
	out := i.text(i.stdout)
	words.Fprintf(out, "\nDone. Next, the first run and the first report:\n  %s run%s\n  %s sentiment --by agent%s\n",
		name("extract"), with, name("query"), with)
	cron, systemd := scheduled(ctx, "crontab"), scheduled(ctx, "systemctl", "is-system-running")
	night := fmt.Sprintf("10 2 * * * %s run --config %s --quiet", cronQuoted(program), cronQuoted(i.target))
	switch {
	case cron && i.owner.UID != 0:
		words.Fprintf(out, "\nTo start it every night, add this line with crontab -u %s -e:\n  %s\n", i.owner.Name, night)
	case cron:
		words.Fprintf(out, "\nTo start it every night, add this line with crontab -e:\n  %s\n", night)
	case !systemd:
		words.Fprintf(out, "\nThis machine has neither cron nor systemd to start it every night. Instead,\n"+
			"start this once, e.g. as the command of the container. It copies new calls within\n"+
			"minutes, and every day at 03:00 does what a run does:\n  %s follow%s\nFor another scheduler, the line of cron would be:\n  %s\n",
			name("extract"), with, night)
	}
	if !systemd {
		return nil
	}
	words.Fprintf(out, `
For systemd, paste this:

mkdir -p %[1]s
cat > %[1]s/callhouse.service <<'END'
[Unit]
Description=Copy the night's calls

[Service]
Type=oneshot
ExecStart=%[2]s run --config %[3]s
# 3: committed but incomplete; the next night continues.
SuccessExitStatus=3
# An interrupted run commits what it fetched, which takes up to 80 seconds.
KillSignal=SIGINT
TimeoutStopSec=90
UMask=0077
`, units, unitQuoted(program), unitQuoted(i.target))
	if i.owner.UID != 0 {
		words.Fprintf(out, "User=%s\n", i.owner.Name)
	}
	words.Fprintf(out, `END
cat > %[1]s/callhouse.timer <<'END'
[Unit]
Description=Copy the night's calls every night

[Timer]
OnCalendar=*-*-* 02:10:00
RandomizedDelaySec=10min
# Catch up on a night during which the machine was off.
Persistent=true

[Install]
WantedBy=timers.target
END
%[2]s daemon-reload
%[2]s enable --now callhouse.timer
`, units, ctl)
	if os.Geteuid() != 0 {
		words.Fprintln(out, "loginctl enable-linger  # also while you are logged out")
	}
	return nil
}

// scheduled reports whether a program of a scheduler is installed and, asked so, says that it runs:
// systemctl is also found where another program than systemd was started first, as in containers.
func scheduled(ctx context.Context, program string, asked ...string) bool {
	_, err := exec.LookPath(program)
	if err == nil && len(asked) > 0 {
		said, _ := exec.CommandContext(ctx, program, asked...).Output() // it fails unless all units are well
		return strings.TrimSpace(string(said)) != "offline"
	}
	return err == nil
}

// cronQuoted also escapes percent signs, which cron reads as line breaks.
func cronQuoted(word string) string { return strings.ReplaceAll(words.Shell(word), "%", `\%`) }

// unitQuoted quotes a word of ExecStart.
func unitQuoted(word string) string {
	if words.Shell(word) == word {
		return word
	}
	return strings.NewReplacer("%", "%%", "$", "$$").Replace(fmt.Sprintf("%q", word))
}
