package extractcmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/maintain"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/internal/api"
)

// worst orders the exit codes of profiles that ran concurrently, worst first: errors that need a
// person come before those that the next run resolves.
var worst = []int{cli.ExitUsage, cli.ExitFailed, cli.ExitLocked, cli.ExitInterrupted, cli.ExitIncomplete, cli.ExitOK}

// byWorst orders two exit codes, the worse one first.
func byWorst(a, b int) int { return slices.Index(worst, a) - slices.Index(worst, b) }

// worse returns the worse of two exit codes.
func worse(a, b int) int { return slices.MinFunc([]int{a, b}, byWorst) }

// runProfiles runs the selected profiles: one, or several concurrently.
func runProfiles(cmd *cobra.Command, s *settings.Settings, stderr io.Writer) error {
	if len(s.Named) < 2 {
		return run(cmd.Context(), s, stderr)
	}
	var all []*settings.Settings
	for _, name := range s.Named {
		p, err := s.Of(cmd, name)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	if err := apart(all); err != nil {
		return err
	}
	// A limit for one profile is too low for several.
	if limit := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") == "" && limit < math.MaxInt64/int64(len(all)) {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit * int64(len(all))))
	}
	return sideBySide(cmd.Context(), all, stderr, run)
}

// apart refuses profiles that share a warehouse, a metrics file or an organisation's budget.
func apart(all []*settings.Settings) error {
	type organisation struct {
		base string
		key  [sha256.Size]byte
	}
	places, metrics, organisations := map[string]string{}, map[string]string{}, map[organisation]string{}
	for _, s := range all {
		place := s.Place()
		if other, ok := places[place]; ok {
			return cli.Usage("give each profile its own warehouse", "the profiles %q and %q share a warehouse: %s", other, s.Profile, place)
		}
		places[place] = s.Profile
		if path := s.MetricsPath(); path != "" {
			if other, ok := metrics[path]; ok {
				return cli.Usage("use {profile} in its name", "the profiles %q and %q share a metrics file: %s", other, s.Profile, path)
			}
			metrics[path] = s.Profile
		}
		// A wrong key or address is reported when its profile runs, and does not stop the others.
		key, _, err := s.APIKey()
		if err != nil || api.CheckBaseURL(s.BaseURL) != nil {
			continue
		}
		o := organisation{config.ServiceOf(s.BaseURL), sha256.Sum256([]byte(key))}
		if other, ok := organisations[o]; ok {
			return cli.Usage("run them one after the other, or merge them into one profile: the service counts requests per organisation",
				"the profiles %q and %q share a key for %s, and therefore a budget", other, s.Profile, o.base)
		}
		organisations[o] = s.Profile
	}
	return nil
}

// sideBySide calls do for several profiles concurrently. A failure of one does not stop the others.
// The error carries the worst exit code.
func sideBySide(ctx context.Context, all []*settings.Settings, stderr io.Writer, do maintain.Run) error {
	var mu sync.Mutex
	codes := make([]int, len(all))
	var work sync.WaitGroup
	for i, s := range all {
		work.Go(func() {
			out := &prefixed{mu: &mu, out: stderr, prefix: "[" + s.Profile + "] "}
			err := do(ctx, s, out)
			codes[i] = cli.Report(out, program, err)
			out.flush()
		})
	}
	work.Wait()
	code := slices.MinFunc(codes, byWorst)
	var ended []string
	for i, s := range all {
		if codes[i] != cli.ExitOK {
			ended = append(ended, fmt.Sprintf("%s (exit code %d)", s.Profile, codes[i]))
		}
	}
	if len(ended) == 0 {
		return nil
	}
	return cli.Fail(code, fmt.Errorf("%d of %d profiles failed or are incomplete: %s", len(ended), len(all), strings.Join(ended, ", ")), "")
}

// prefixed writes whole lines, each with a prefix, to a shared writer. Lines of JSON get no prefix,
// since they contain the profile's name.
type prefixed struct {
	mu     *sync.Mutex // of out
	out    io.Writer
	prefix string

	own  sync.Mutex
	line []byte
}

// Write implements io.Writer.
func (p *prefixed) Write(b []byte) (int, error) {
	p.own.Lock()
	defer p.own.Unlock()
	p.line = append(p.line, b...)
	for {
		at := bytes.IndexByte(p.line, '\n')
		if at < 0 {
			return len(b), nil
		}
		err := p.put(p.line[:at+1])
		p.line = append(p.line[:0], p.line[at+1:]...)
		if err != nil {
			return 0, err
		}
	}
}

func (p *prefixed) put(line []byte) error {
	var text []byte
	if !bytes.HasPrefix(line, []byte("{")) {
		text = append(text, p.prefix...)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(text, line...))
	return err
}

// flush writes an unfinished last line.
func (p *prefixed) flush() {
	p.own.Lock()
	defer p.own.Unlock()
	if len(p.line) > 0 {
		_ = p.put(append(p.line, '\n')) // errors are ignored, as with fmt.Fprint
		p.line = nil
	}
}
