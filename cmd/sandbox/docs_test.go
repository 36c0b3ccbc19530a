package main

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/test"
)

// TestDocs starts the sandbox as docs/reference/sandbox.md does, and runs the commands there.
func TestDocs(t *testing.T) {
	for _, program := range []string{"sh", "curl", "grep", "head", "cut"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	const file, begin, end, own = "../../docs/reference/sandbox.md", "-run TestDocs -update -->\n", "<!-- end -->", "http://127.0.0.1:8080"
	page := test.Read(t, file)
	before, rest, ok := strings.Cut(string(page), "cmd/sandbox "+begin)
	shown, after, ok2 := strings.Cut(rest, end)
	start := regexp.MustCompile(`\$ go run ./cmd/sandbox (--clock .*)`).FindStringSubmatch(before)
	if !ok || !ok2 || start == nil {
		t.Fatal("the docs have no place for commands, or do not say how to start the sandbox")
	}
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append(strings.Fields(start[1]), "--addr", "127.0.0.1:0"), strings.NewReader(""), io.Discard, writer)
		_ = writer.Close()
	}()
	defer func() {
		cancel()
		if got := <-code; got != 0 {
			t.Errorf("exit code %d", got)
		}
	}()
	url, lines := "", bufio.NewScanner(reader)
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), "CALLHOUSE_BASE_URL=")
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }() // it ends with the writer

	const marker = "---next---"
	var page2 strings.Builder
	script, commands := "export no_proxy='*'\n", 0
	for line := range strings.Lines(shown) {
		if command, ok := strings.CutPrefix(line, "    $ "); ok {
			commands++
			script += strings.ReplaceAll(command, own, url) + "echo; echo " + marker + "\n"
		}
	}
	said, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	answers := strings.Split(string(said), marker+"\n")
	for line := range strings.Lines(shown) {
		if strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "    $ ") {
			continue // the output of a command
		}
		page2.WriteString(line)
		if strings.HasPrefix(line, "    $ ") {
			for text := range strings.Lines(answers[0]) {
				if text = strings.TrimRight(strings.ReplaceAll(text, url, own), "\r\n"); text != "" {
					page2.WriteString("    " + text + "\n")
				}
			}
			answers = answers[1:]
		}
	}
	test.Golden(t, file, before+"cmd/sandbox "+begin+page2.String()+end+after)
	if commands < 8 {
		t.Errorf("only %d commands were run", commands)
	}
}
