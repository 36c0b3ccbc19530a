package extractcmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink"
)

// Where nobody can draw, long work says once a minute how far it is, in the
// format of the log; short work and --quiet say nothing.
func TestProgressOffTheTerminal(t *testing.T) {
	for _, tc := range []struct {
		s    settings
		want string
	}{
		{settings{logFormat: "text"}, `msg=progress of=2026-10 calls=4096 total=9000`},
		{settings{logFormat: "json"}, `"msg":"progress","of":"2026-10","calls":4096,"total":9000}`},
		{settings{quiet: true}, ""},
	} {
		var out bytes.Buffer
		b := tc.s.bar(&out)
		b.show(sink.Progress{What: "2026-09", Done: 5, Total: 5})
		if out.Len() > 0 {
			t.Errorf("short work says %q", out.String())
		}
		b.told = b.told.Add(-2 * time.Minute)
		for range 2 {
			b.show(sink.Progress{What: "2026-10", Done: 4096, Total: 9000})
		}
		b.close()
		if got := out.String(); !strings.HasSuffix(strings.TrimSpace(got), tc.want) || strings.Count(got, "\n") != min(1, len(tc.want)) {
			t.Errorf("it says %q, want %q once", got, tc.want)
		}
	}
}

// An interrupt keeps compact from making a file of a month, and costs nothing:
// what was not compacted is as it was, and the next time it is.
func TestCompactIsInterrupted(t *testing.T) {
	root := tended(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := Run(ctx, []string{"compact", "--all", "--warehouse", root}, strings.NewReader(""), &out, &errs)
	if code != cli.ExitInterrupted || !strings.Contains(errs.String(), "interrupted") || strings.Contains(errs.String(), "compacted") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if code, stdout, _ := call(t, "", "verify", "--all", "--warehouse", root); code != cli.ExitOK || !strings.Contains(stdout, "whole: 2 snapshots") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if code, _, stderr := call(t, "", "compact", "--all", "--warehouse", root); code != cli.ExitOK || !strings.Contains(stderr, "compacted") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
