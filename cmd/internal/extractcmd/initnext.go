package extractcmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"callhouse/internal/words"
)

// next prints what to do next: the first run, and how to start one every night.
func (i *initial) next() error {
	program, err := os.Executable()
	if err != nil {
		return err
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
	words.Fprintf(i.text(i.stdout), "\nDone. Next, the first run and the first report:\n  %s run%s\n  %s sentiment --by agent%s\n",
		name("extract"), with, name("query"), with)
	_, err = os.Stat("/run/systemd/system") // as sd_booted
	i.nightly(program, name("extract")+" follow"+with, err == nil, cronRuns())
	return nil
}

// nightly prints what starts a run every night. follow is the command where nothing else can start one.
func (i *initial) nightly(program, follow string, systemd, cron bool) {
	out := i.text(i.stdout)
	of := "crontab -e"
	if i.owner.UID != 0 {
		of = "crontab -u " + i.owner.Name + " -e"
	}
	line := fmt.Sprintf("10 2 * * * %s run --config %s --quiet", cronQuoted(program), cronQuoted(i.target))
	switch {
	case cron:
		words.Fprintf(out, "\nTo start it every night, add this line with %s:\n  %s\n", of, line)
	case !systemd:
		words.Fprintf(out, "\nNeither cron nor systemd runs on this machine to start it every night. Instead,\n"+
			"start this once, e.g. as the command of the container. It copies new calls within\n"+
			"minutes, and every day at 03:00 does what a run does:\n  %s\n"+
			"If cron will run, or for another scheduler, this is its line (%s):\n  %s\n", follow, of, line)
	}
	if !systemd {
		return
	}
	units, ctl := "~/.config/systemd/user", "systemctl --user"
	if os.Geteuid() == 0 {
		units, ctl = "/etc/systemd/system", "systemctl"
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
}

// cronRuns reports whether a daemon of cron runs: an installed one may be stopped, as in containers.
func cronRuns() bool {
	if runtime.GOOS != "linux" { // launchd starts it when there is a crontab
		return true
	}
	names, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is valid
	return slices.ContainsFunc(names, func(name string) bool {
		comm, _ := os.ReadFile(name) // the process may have ended
		return slices.Contains([]string{"cron", "crond", "fcron"}, strings.TrimSpace(string(comm)))
	})
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
