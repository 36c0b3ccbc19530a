package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/deploy"
	"callhouse/internal/words"
)

// Kinds of schedules.
const (
	bySystemd = "systemd"
	byCron    = "cron"
	byNone    = "none"
)

const programInDeploy = "/usr/local/bin/extract"

// schedules returns the schedules that the machine supports, the preferred one first.
func (m *machine) schedules() (out []string) {
	running, crontab := filepath.Join(m.root, "/run/systemd/system"), exists(filepath.Join(m.root, "/etc/cron.d"))
	if !m.system {
		running, crontab = filepath.Join(m.env.Get("XDG_RUNTIME_DIR"), "systemd"), hasProgram("crontab")
	}
	if m.temporary() {
		return []string{byNone}
	}
	if (m.system || m.env.Get("XDG_RUNTIME_DIR") != "") && exists(running) && hasProgram("systemctl") {
		out = append(out, bySystemd)
	}
	if crontab {
		out = append(out, byCron)
	}
	return append(out, byNone)
}

// temporary reports whether the program is removed when it ends, as under go run.
func (m *machine) temporary() bool { return strings.Contains(m.program, "/go-build") }

// scheduled returns the steps that start a run every night.
func (m *machine) scheduled(ctx context.Context, kind, config string) ([]*step, error) {
	switch {
	case kind == bySystemd:
		return m.systemd(config), nil
	case kind == byCron && m.system:
		f := &file{path: filepath.Join(m.root, "/etc/cron.d/callhouse"), mode: 0o644, folder: 0o755,
			text: strings.Replace(deploy.Cron, programInDeploy+" run", m.command(config, cronQuoted), 1)}
		f.what = "write " + f.path + ": every night at 02:10"
		return some(f.step()), nil
	case kind == byCron:
		return m.crontab(ctx, config)
	}
	return nil, nil
}

func some(steps ...*step) []*step {
	return slices.DeleteFunc(steps, func(s *step) bool { return s == nil })
}

// command returns the command line of a nightly run.
func (m *machine) command(config string, quote func(string) string) string {
	text := quote(m.program) + " run"
	if config != m.config || !m.system {
		text += " --config " + quote(config)
	}
	return text
}

// ofUser are the unit settings that also make sense for a user's service manager.
var ofUser = strings.Fields("Description= Type= ExecStart= SuccessExitStatus= KillSignal= TimeoutStopSec= TimeoutStartSec= " +
	"UMask= MemoryMax= NoNewPrivileges= OnCalendar= RandomizedDelaySec= Persistent= WantedBy=")

// forUser converts a system unit for a user's service manager.
func forUser(unit string) string {
	var b strings.Builder
	for line := range strings.Lines(unit) {
		key, _, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
		case slices.Contains(ofUser, key+"="):
			b.WriteString(line)
		}
	}
	return b.String()
}

// systemd returns the steps for a timer. Units that a package installed are used as they are.
func (m *machine) systemd(config string) []*step {
	ctl := []string{"systemctl"}
	folder := filepath.Join(m.root, "/etc/systemd/system")
	service, timer := deploy.Service, deploy.Timer
	if !m.system {
		ctl = append(ctl, "--user")
		folder = filepath.Join(filepath.Dir(filepath.Dir(m.env.Own)), "systemd/user")
		service, timer = forUser(service), forUser(timer)
	}
	service = strings.Replace(service, programInDeploy+" run", m.command(config, unitQuoted), 1)
	var steps []*step
	packaged := m.system && (exists(filepath.Join(m.root, "/usr/lib/systemd/system/callhouse.timer")) ||
		exists(filepath.Join(m.root, "/lib/systemd/system/callhouse.timer")))
	if !packaged {
		for name, text := range map[string]string{"callhouse.service": service, "callhouse.timer": timer} {
			f := &file{path: filepath.Join(folder, name), text: text, mode: 0o644, folder: 0o755}
			f.what = "write " + f.path
			steps = append(steps, f.step())
		}
		steps = some(steps...)
		slices.SortFunc(steps, func(a, b *step) int { return strings.Compare(a.what, b.what) })
	}
	call := func(ctx context.Context, args ...string) error {
		_, err := m.run(ctx, "", ctl[0], slices.Concat(ctl[1:], args)...)
		return err
	}
	with := strings.Join(ctl, " ")
	enable := &step{what: "enable callhouse.timer: every night at 02:10", undo: []string{with + " disable --now callhouse.timer"}}
	enable.do = func(ctx context.Context) error {
		err := call(ctx, "daemon-reload")
		if err == nil {
			err = call(ctx, "enable", "--now", "callhouse.timer")
		}
		if err != nil {
			err = cli.Fail(cli.ExitFailed, err, "everything was reverted; --schedule cron or none does without systemd")
		}
		return err
	}
	enable.back = func() { _ = call(context.WithoutCancel(context.Background()), "disable", "--now", "callhouse.timer") }
	return append(steps, enable)
}

// cronMark is the comment above the line of a user's crontab.
const cronMark = "# callhouse: the next line was written by extract init\n"

// crontab returns the step that adds a line to the user's crontab or replaces the existing one.
func (m *machine) crontab(ctx context.Context, config string) ([]*step, error) {
	old, err := m.run(ctx, "", "crontab", "-l")
	if err != nil && !strings.Contains(err.Error(), "no crontab") {
		return nil, cli.Fail(cli.ExitFailed, err, "--schedule none leaves it out")
	}
	line := "10 2 * * * " + m.command(config, cronQuoted) + " --quiet\n"
	rest := old
	if before, after, ok := strings.Cut(old, cronMark); ok {
		_, after, _ = strings.Cut(after, "\n")
		rest = before + after
	}
	if rest != "" && !strings.HasSuffix(rest, "\n") {
		rest += "\n"
	}
	text := rest + cronMark + line
	if text == old {
		return nil, nil
	}
	what := "add a line to the crontab: every night at 02:10"
	if rest != old && strings.Contains(old, cronMark) {
		what = "replace callhouse's line of the crontab: every night at 02:10"
	}
	set := func(ctx context.Context, text string) error {
		_, err := m.run(ctx, text, "crontab", "-")
		return err
	}
	return []*step{{what: what, undo: []string{"crontab -e   # and remove the two lines of callhouse"},
		do:   func(ctx context.Context) error { return set(ctx, text) },
		back: func() { _ = set(context.Background(), old) }}}, nil
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
