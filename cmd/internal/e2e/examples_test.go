package e2e

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

// Every command of extract and every report of query has examples, with valid flags and arguments.
func TestExamplesAreRight(t *testing.T) {
	tried := 0
	for _, tree := range []func() *cobra.Command{extractcmd.Command, querycmd.Command} {
		root := tree()
		for _, cmd := range append(root.Commands(), root) {
			if strings.TrimSpace(cmd.Example) == "" && (root.Name() == "extract" || cmd.GroupID == "reports") && cmd.IsAvailableCommand() && cmd.Name() != "help" {
				t.Errorf("%s --help shows no example", cmd.CommandPath())
			}
			for line := range strings.Lines(cmd.Example) {
				_, line, of := strings.Cut(line, root.Name()+" ")
				if !of {
					continue // of another program
				}
				for _, end := range []string{" | ", " > ", " < ", " && "} {
					line, _, _ = strings.Cut(line, end)
				}
				tried++
				found, args, err := tree().Find(words.Fields(line))
				if err == nil {
					err = found.ParseFlags(args)
				}
				if err == nil {
					err = found.ValidateArgs(found.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s --help: %s: %v", cmd.CommandPath(), line, err)
				}
			}
		}
	}
	if tried < 30 {
		t.Errorf("%d examples", tried)
	}
}

// On a terminal a run draws a status line, both when it completes and when it is interrupted. The
// next run continues where an interrupted one ended.
func TestStatusLineOnATerminal(t *testing.T) {
	longtest.Only(t) // it waits by the real clock
	var interrupt context.CancelFunc
	c := foundNow(t, sandbox.Options{
		World: sandbox.Config{Seed: 6, Calls: 200, Days: 2},
		Inject: func(number int64, _ sandbox.Request) sandbox.FaultKind {
			if number == 60 {
				interrupt()
			}
			return ""
		},
	})
	for _, run := range []struct {
		code int
		says []string
	}{
		{cli.ExitInterrupted, []string{"pages", "transcripts", "requests per minute", "interrupted", "committed"}},
		{cli.ExitOK, []string{"pages", "transcripts", "done in"}},
	} {
		terminal, stderr, err := pty.Open()
		if err != nil {
			t.Skip("no pseudo terminals on this machine: ", err)
		}
		test.OK(t, pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 100}))
		shown := make(chan string)
		go func() {
			all, _ := io.ReadAll(terminal) // ends with an error when the other side is closed
			shown <- string(all)
		}()
		ctx, cancel := context.WithCancel(t.Context())
		interrupt = cancel
		t.Setenv("TERM", "xterm")
		code := extractcmd.Run(ctx, cmdtest.Env(), []string{"run", "--warehouse", c.warehouse, "--base-url", c.service.URL, "--api-key-file", c.keyFile,
			"--requests-per-second", "100", "--requests-per-minute", "100000"}, strings.NewReader(""), io.Discard, stderr)
		cancel()
		if err := stderr.Close(); err != nil {
			t.Error(err)
		}
		screen := <-shown
		_ = terminal.Close()
		if code != run.code {
			t.Errorf("exit code %d, want %d", code, run.code)
		}
		for _, s := range run.says {
			if !strings.Contains(screen, s) {
				t.Errorf("the terminal does not show %q", s)
			}
		}
		if t.Failed() {
			t.Fatalf("it shows:\n%q", screen)
		}
	}
	sameAsTruth(t, c)
	if n := c.counts("SELECT outcome AS key, count(*) AS n FROM runs GROUP BY 1"); n["interrupted"] != 1 || n["done"] != 1 || len(n) != 2 {
		t.Errorf("outcomes of the runs: %v", n)
	}
}
