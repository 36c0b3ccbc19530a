package querycmd_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
)

// The command serves an assistant on its stdin and stdout until stdin ends, with the limits of a
// user.
func TestMCP(t *testing.T) {
	house(t)
	safeTemp(t)
	if r := run(t, "a long password\n", "serve", "user", "add", "ann", "--users", "users.json", "--mask", "disconnection_reason"); r.code != cli.ExitOK {
		t.Fatal(r)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- querycmd.Run(t.Context(), cmdtest.Env(), []string{"mcp", "--users", "users.json", "--user", "ann", "--audit", "audit", "--tz", "Asia/Seoul"}, in, out, &errs)
		_ = out.Close()
	}()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err, errs.String())
	}
	for _, x := range []struct{ tool, args, want string }{
		{"funnel", `{"since": "2024-11-18"}`, "since 2024-11-18T00:00:00+09:00"},
		{"sql", `{"statement": "SELECT count(*) AS n, count(disconnection_reason) AS reasons FROM calls"}`, `{"n":8,"reasons":0}`},
		{"call", `{"call_id": "c1"}`, `Hello, \"Ann\" speaking,\nhow may I help?`},
	} {
		got, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: json.RawMessage(x.args)})
		if err != nil || got.IsError || !strings.Contains(got.Content[0].(*sdk.TextContent).Text, x.want) {
			t.Errorf("%s: %v, %+v", x.tool, err, got)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != cli.ExitOK || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if raw, err := os.ReadFile("audit"); err != nil || strings.Count(string(raw), `"user":"ann","from":"stdin","application":"mcp"`) != 3 {
		t.Errorf("%v: %s", err, raw)
	}
}

// Errors in its flags are reported before it waits for an assistant.
func TestMCPFlags(t *testing.T) {
	house(t)
	for args, want := range map[string]string{"--users users.json": "both --users and --user", "--user ann": "both --users and --user", "--users none.json --user ann": "query serve user add",
		"--max-rows 0": "invalid --max-rows 0", "--max-output lots": "invalid --max-output lots", "--memory 1KiB": "too small", "--warehouse nowhere": "no warehouse", "extra": "takes no arguments", "--tz Mars": "unknown time zone"} {
		if r := run(t, "", append([]string{"mcp"}, strings.Fields(args)...)...); r.code == cli.ExitOK || r.out != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %v", args, r)
		}
	}
	if r := run(t, "", "serve", "--postgres", "127.0.0.1:0", "--mcp"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "--mcp requires --http") {
		t.Error(r)
	}
}
