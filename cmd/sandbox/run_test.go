package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"callhouse/cmd/internal/cmdtest"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) {
	clear := cmdtest.Seal()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		clear()
		os.Exit(code)
	}))
}

func TestWrongUse(t *testing.T) {
	for args, want := range map[string]string{
		"--cals 5":                    "sandbox: unknown flag: --cals\n         see sandbox --help\n",
		"serve":                       "sandbox: unknown command \"serve\" of sandbox\n         see sandbox --help\n",
		"--calls many":                `--calls must be a whole number, not "many"`,
		"--calls -1":                  "calls must be 0 to 1,000,000,000, not -1",
		"--clock fast":                `--clock must be real or frozen, not "fast"`,
		"--now yesterday":             "use a time such as 2026-11-19T12:00:00Z",
		"--limiter leaky":             "limiter must be sliding-log, fixed-window or token-bucket",
		"--faults boom=1":             `unknown fault "boom"; available: 204,`,
		"--faults 500":                "want KIND=RATE",
		"--organisation huge":         `--organisation must be small, large or none, not "huge"`,
		"--pace -1":                   "--pace must not be negative",
		"--v2 maybe":                  `unknown v2 mode "maybe"; available: off, removed-after,`,
		"--agents 0":                  "without agents, calls must be 0",
		"--v2 off=200":                "the v2 status must be 400 to 599, not 200",
		"--resource-faults agent=404": `unknown resource "agent"; available: all, agent_versions,`,
		"--requests-per-second -1":    "a limit must not be negative; 0 is no limit",
		"--delete-rate 2":             "delete rate must be 0 to 1, not 2",
		"--key=":                      "a key is empty",
		"generate --agents 1000":      "agents must be 0 to 200, not 1000",
		"generate everything":         `unknown command "everything" of sandbox generate`,
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") > 2 {
			t.Errorf("sandbox %s: exit %d, %s", args, code, stderr.String())
		}
	}
}

func TestFailures(t *testing.T) {
	for args, want := range map[string]string{
		"--addr 127.0.0.1:99999":                        "choose another address",
		"generate --calls 5 --output /no/such/folder/x": "create output: open /no/such/folder/x",
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), strings.NewReader(""), io.Discard, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), want) {
			t.Errorf("sandbox %s: exit %d, %s", args, code, stderr.String())
		}
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	code := make(chan int, 1)
	go func() {
		args := "--addr 127.0.0.1:0 --calls 300 --now 2026-11-19T09:30:00Z --key k1 --requests-per-second 2 --faults 409=0"
		code <- run(ctx, strings.Fields(args), strings.NewReader(""), io.Discard, writer)
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	var said strings.Builder
	base := ""
	for base == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := regexp.MustCompile(`CALLHOUSE_BASE_URL=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			base = m[1]
		}
	}
	greeting := said.String()
	for _, want := range []int{200, 200, 429} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v3/calls?limit=1", nil)
		test.OK(t, err)
		r.Header.Set("Authorization", "Bearer k1")
		a, err := http.DefaultClient.Do(r)
		test.OK(t, err)
		test.Same(t, want, a.StatusCode, "the answer")
		_ = a.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	said.Reset()
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	if c := <-code; c != 0 {
		t.Errorf("exit %d", c)
	}
	want := `  export CALLHOUSE_API_KEY=k1

Press Ctrl-C to stop.
`
	if said.String() != want {
		t.Errorf("said at the end:\n%s", said.String())
	}
	for _, part := range []string{
		"calls   300 at 2026-11-19T09:30:00Z, about 10 more per day, seed 1, frozen clock",
		"2 requests per second, 120 per minute for all keys, counted by sliding-log",
		"faults  409=0", "truth   " + base + "/sandbox/truth",
	} {
		if !strings.Contains(greeting, part) {
			t.Errorf("%q is not in the greeting:\n%s", part, greeting)
		}
	}
}

func TestGenerate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calls.ndjson")
	generated := func(args string) []byte {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields("generate --calls 1500 "+args), strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("%s: exit %d, %s", args, code, stderr.String())
		}
		return stdout.Bytes()
	}
	details := generated("--details")
	if !bytes.Equal(details, generated("--details")) {
		t.Error("two runs differ")
	}
	generated("--details --output " + file)
	if written, err := os.ReadFile(file); err != nil || !bytes.Equal(written, details) {
		t.Errorf("the file differs from standard output: %v", err)
	}
	for args, check := range map[string]func(map[string]any) bool{
		"":          func(c map[string]any) bool { _, there := c["transcript"]; return !there && c["id"] != nil },
		"--details": func(c map[string]any) bool { _, there := c["transcript"]; return there && c["id"] != nil },
		"--v2":      func(c map[string]any) bool { return c["call_id"] != nil },
	} {
		n, last := 0, 0.0
		for line := range bytes.Lines(generated(args)) {
			var c map[string]any
			if err := json.Unmarshal(line, &c); err != nil || !check(c) {
				t.Fatalf("%q: %v in %s", args, err, line)
			}
			n++
			if start, ok := c["start_at"].(float64); ok {
				if start < last {
					t.Fatalf("line %d is older than the one before", n)
				}
				last = start
			}
		}
		if n != 1500 {
			t.Errorf("%q: %d lines", args, n)
		}
	}
}
