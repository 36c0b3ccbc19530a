package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/internal/analytics/format"
)

// run runs one input without printing its error.
func (s *Session) run(ctx context.Context, in Input) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := strings.TrimSpace(in.Text)
	if in.Command {
		return s.command(ctx, text)
	}
	return s.answer(ctx, func(a *answer.Command) error { return s.safe.Answer(ctx, a, text, nil) })
}

// report runs a report.
func (s *Session) report(ctx context.Context, words []string) error {
	if s.safe.On {
		if err := safe.StaysInside(words[1:]); err != nil {
			return err
		}
	}
	return s.answer(ctx, func(a *answer.Command) error { return s.invoke(ctx, a, words...) })
}

// invoke runs one of query's commands with the session's settings.
func (s *Session) invoke(ctx context.Context, a *answer.Command, words ...string) error {
	args := []string{words[0], "--warehouse", a.Warehouse, "--tz", a.TZ, "--config", s.a.Path, "--profile", s.a.Profile}
	toFile := func(w string) bool { return strings.HasPrefix(w, "--output") || strings.HasPrefix(w, "-o") }
	if a.Format != "" && !slices.ContainsFunc(words, toFile) { // the file's extension determines the format
		args = append(args, "--format", a.Format)
	}
	root := s.commands(*a)
	root.SetArgs(append(args, words[1:]...))
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return a.Explain(root.ExecuteContext(ctx))
}

// answer calls do, which writes an answer to the session's output. The whole answer comes from the
// current snapshot.
func (s *Session) answer(ctx context.Context, do func(a *answer.Command) error) error {
	w, giveBack, err := s.borrow(ctx)
	if err != nil {
		return s.a.Explain(err)
	}
	defer giveBack()
	values := config.Values{Warehouse: s.a.Warehouse, TZ: s.tz, Format: s.format}
	a := &answer.Command{Stdin: strings.NewReader(""), Stdout: s.a.Stdout, Stderr: s.a.Stderr,
		Config: config.Config{Env: s.a.Env, Values: values},
		Shell:  &answer.Shell{Root: s.a.Warehouse, House: w, Width: answer.TerminalWidth(s.a.Stdout), Instead: ".format csv"}}
	began := time.Now()
	if s.file != nil {
		a.Shell.Width = 0
		err = s.file.add(a, do)
	} else {
		s.part(a)
		err = do(a)
	}
	if err == nil && s.timer && a.Shell.Wrote != nil {
		s.say("%s, %.3f s", cli.Plural(a.Shell.Wrote.Rows, "row"), time.Since(began).Seconds())
	}
	return err
}

// part prints an empty line between tables if there is no prompt between them.
func (s *Session) part(a *answer.Command) {
	kind := format.Format(a.Format)
	if !s.interactive && (kind == "" || kind == format.Table || kind == format.Markdown) {
		a.Stdout = &parting{w: a.Stdout, above: &s.parted}
	}
}

// parting prints an empty line before output that follows other output.
type parting struct {
	w     io.Writer
	above *bool
	begun bool
}

func (p *parting) Write(b []byte) (int, error) {
	if !p.begun && len(b) > 0 {
		if *p.above {
			if _, err := p.w.Write([]byte{'\n'}); err != nil {
				return 0, err
			}
		}
		p.begun, *p.above = true, true
	}
	return p.w.Write(b)
}

// outFile is the file of .output. The first answer replaces it, later ones are appended; each is
// written completely or not at all.
type outFile struct {
	path, format string
	begun        bool
}

// redirect sends answers to a file, in the format of its extension or else of the session.
func (s *Session) redirect(path string) {
	s.file = &outFile{path: path, format: s.format}
	if f, ok := format.OfFile(path); ok {
		s.file.format = string(f)
	}
}

func (f *outFile) add(a *answer.Command, do func(*answer.Command) error) error {
	a.Format = f.format
	fill := func(w io.Writer) error {
		a.Stdout = w
		return do(a)
	}
	if !f.begun {
		err := a.WriteFile(f.path, fill)
		f.begun = err == nil
		return err
	}
	if format.Format(f.format).Binary() {
		return cli.Usage("name another file with .output FILE, or return to the terminal with .output",
			"%s already has an answer, and %s files hold only one", f.path, f.format)
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, a.FileMode(f.path))
	if err != nil {
		return answer.Unwritable(f.path, err)
	}
	info, err := file.Stat()
	if err == nil {
		if err = fill(file); err != nil && info.Mode().IsRegular() {
			err = errors.Join(err, file.Truncate(info.Size()))
		}
	}
	return errors.Join(err, file.Close())
}
