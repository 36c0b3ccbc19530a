package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/creack/pty"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

const (
	// foulKey is a key that changes in other encodings.
	foulKey = `sk/live+9"never<shown>\77=`
	// forged begins a line that a service tries to forge in our output.
	forged = "forged: all is well"
	// steering has characters that control a terminal, or that hide or reverse text.
	steering = "\x1b]0;owned\x07\x1b[2J\x7f\u0085\u009b31m\u202e\u2066\u200f\u061c\u2028\u200b"
	foul     = steering + "\n" + forged + "\r\t" + foulKey
)

// foulService is a service of 14 calls in which every text is foul.
type foulService struct {
	url    string
	stage  atomic.Int32
	others atomic.Int32 // times it returned another call's record
	now    time.Time
}

// The stages of the service's behaviour.
const (
	foulCalls   = iota // lists calls; some records are unavailable
	foulChanges        // as before, but all records differ, one call is gone and one is new
	foulRefuses        // every answer is a refusal with a foul message
	foulKeys           // every answer rejects the key
	foulLeads          // every answer is a redirect
)

func newFoulService(t *testing.T) *foulService {
	s := &foulService{now: time.Now()}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// word returns a unique foul text.
func word(n int) string { return fmt.Sprint(n, foul, n) }

func (s *foulService) call(n int, detail bool) map[string]any {
	start := s.now.Add(-time.Duration(n+1) * 24 * time.Hour).UnixMilli()
	changed := ""
	if s.stage.Load() == foulChanges {
		changed = " changed"
	}
	c := map[string]any{
		"id": word(n), "agent": map[string]any{"agent_id": word(n % 3), "agent_version": word(1)},
		"call_type": word(2), "status": "ended" + changed, "disconnection_reason": word(3) + changed, "from_number": word(4),
		"start_at": start, "end_at": start + 60_000, "variant_label": word(5),
		"metadata": map[string]any{steering + foulKey: word(6)}, "dynamic_variables": map[string]any{foul: word(7)},
		"call_analysis": map[string]any{"summary": word(8), "user_sentiment": word(9) + changed,
			"custom_analysis_data": []any{map[string]any{"type": "string", "name": word(10), "value": word(11)}}},
		"call_cost": map[string]any{"total_cost": "1.5", foulKey: 1},
		// Names of fields without a column. Those of up to 64 bytes are counted by name.
		foulKey: 1, url.QueryEscape(foulKey): 1,
		"\x1b[2J\u009b\u202e\n" + forged: 1,
	}
	if n == 4 {
		c["status"], c["start_at"] = word(12), foul // of an unknown kind
	}
	if detail {
		c["transcript"] = []any{map[string]any{"role": "agent", "content": word(13) + changed, "start_at": start, "end_at": start + 900},
			map[string]any{"role": word(14), "content": word(15), "start_at": start, "end_at": start},
			map[string]any{"role": "tool_call_invocation", "tool_call_id": word(16), "name": word(17), "arguments": map[string]any{foul: foul}}}
	}
	return c
}

func (s *foulService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int) {
		w.Header().Set("Location", "https://example.org/"+url.PathEscape(foulKey)+"?key=x")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": foul, "message": strings.Repeat("x", 190) + foulKey + foul}})
	}
	stage := s.stage.Load()
	switch {
	case stage == foulRefuses:
		refuse(http.StatusBadRequest)
		return
	case stage == foulKeys:
		refuse(http.StatusUnauthorized)
		return
	case stage == foulLeads:
		refuse(http.StatusTemporaryRedirect)
		return
	}
	if id, ok := strings.CutPrefix(r.URL.Path, "/v3/calls/"); ok {
		var n int
		_, _ = fmt.Sscanf(id, "%d", &n)
		switch {
		case n == 1:
			refuse(http.StatusBadRequest)
		case n == 2:
			refuse(http.StatusNotFound)
		case n == 3 && s.others.Add(1) < 4:
			_ = json.NewEncoder(w).Encode(s.call(5, true)) // of another call
		default:
			_ = json.NewEncoder(w).Encode(s.call(n, true))
		}
		return
	}
	items := []any{}
	for n := range 14 {
		if stage == foulCalls && n == 12 || stage == foulChanges && n == 13 {
			continue
		}
		items = append(items, s.call(n, false))
	}
	items = append(items, foul, map[string]any{"id": 7, foul: foul})
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items, "next_cursor": nil, "total_count": len(items)})
}

// unclean returns what is wrong with a text for a terminal or a log: the first control character, or a forged line.
func unclean(text string) string {
	if !utf8.ValidString(text) {
		return "a byte that is no UTF-8"
	}
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\u200b':
			return fmt.Sprintf("%U", r)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), forged) {
			return "a forged line"
		}
	}
	return ""
}

// keyIn returns the encoding in which a text contains the key; empty if it does not.
func keyIn(text string) string {
	for _, form := range []string{"9\"never", "live+9", url.QueryEscape(foulKey)[:12], url.PathEscape(foulKey)[:12], "never<shown", `9\"never`} {
		if strings.Contains(text, form) {
			return form
		}
	}
	return ""
}

// foulWarehouse is a service with foul words and the warehouse that it fills.
type foulWarehouse struct {
	t                           *testing.T
	service                     *foulService
	warehouse, keyFile, metrics string
}

func newFoulWarehouse(t *testing.T) *foulWarehouse {
	t.Helper()
	dir := t.TempDir()
	h := &foulWarehouse{t: t, service: newFoulService(t), warehouse: filepath.Join(dir, "w"), keyFile: filepath.Join(dir, "key"), metrics: filepath.Join(dir, "m.prom")}
	test.OK(t, os.WriteFile(h.keyFile, []byte(foulKey), 0o600))
	return h
}

// extract runs extract, and checks all of its output.
func (h *foulWarehouse) extract(want int, args ...string) result {
	h.t.Helper()
	r := extract(h.t.Context(), append(args, "--warehouse", h.warehouse, "--base-url", h.service.url, "--api-key-file", h.keyFile,
		"--requests-per-second", "2000", "--requests-per-minute", "100000")...)
	r.exits(h.t, want)
	for name, text := range map[string]string{"stdout": r.stdout, "stderr": r.stderr} {
		if bad := unclean(text); bad != "" {
			h.t.Errorf("extract %q: %s has %s:\n%q", args, name, bad, text)
		}
		if form := keyIn(text); form != "" {
			h.t.Errorf("extract %q: %s has the key (%s):\n%s", args, name, form, text)
		}
	}
	return r
}

// run runs extract, and checks its metrics as well.
func (h *foulWarehouse) run(want int, args ...string) result {
	h.t.Helper()
	r := h.extract(want, append([]string{"run", "--metrics-file", h.metrics}, args...)...)
	raw, err := os.ReadFile(h.metrics)
	test.OK(h.t, err)
	text := string(raw)
	if bad, form := unclean(text), keyIn(text); bad != "" || form != "" || strings.Contains(text, `\nforged`) && !strings.Contains(text, `\\nforged`) {
		h.t.Errorf("the metrics have %s%s:\n%s", bad, form, text)
	}
	return r
}

// Whatever a service calls its calls, agents, fields and errors, no output of any command for
// people or logs controls a terminal, forges a line or repeats the key; neither do the table runs
// and the metrics. Texts in the calls themselves are stored unchanged.
func TestForeignWords(t *testing.T) {
	longtest.Only(t)
	for _, name := range []string{"CALLHOUSE_API_KEY", "CALLHOUSE_BASE_URL", "CALLHOUSE_WAREHOUSE"} {
		t.Setenv(name, "")
	}
	h := newFoulWarehouse(t)
	// part runs a part of the test under a name.
	part := func(name string, do func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			h.t = t
			do(t)
		})
	}
	part("a run's report and metrics", func(t *testing.T) {
		r := h.run(cli.ExitIncomplete)
		for _, says := range []string{`\x1b[2J`, `\u009b`, `\u202e`, `\nforged`, "[masked]", "set aside"} {
			if !strings.Contains(r.stderr, says) {
				t.Errorf("the report lacks %s:\n%s", says, r.stderr)
			}
		}
	})
	part("what reads and maintains", func(t *testing.T) {
		h.extract(cli.ExitIncomplete, "status", "--max-age", "0")
		h.extract(cli.ExitOK, "verify")
		h.extract(cli.ExitOK, "plan")
		h.extract(cli.ExitOK, "rollback", "--list")
		h.extract(cli.ExitOK, "config")
		h.extract(cli.ExitOK, "compact")
		h.extract(cli.ExitOK, "forget", "--dry-run", "--call-id", word(0))
		const given = steering + "\n" + forged
		h.extract(cli.ExitFailed, "show", given)
		h.extract(cli.ExitUsage, given)
		h.extract(cli.ExitUsage, "--"+given)
		h.extract(cli.ExitUsage, "--since", given)
	})
	part("a call on a terminal", func(t *testing.T) {
		terminal, stdout, err := pty.Open()
		if err != nil {
			t.Skip("no pseudo terminals on this machine: ", err)
		}
		t.Setenv("TERM", "xterm")
		shown := make(chan string)
		go func() {
			all, _ := io.ReadAll(terminal) // ends with an error when the other side is closed
			shown <- string(all)
		}()
		code := extractcmd.Run(t.Context(), cmdtest.Env(), []string{"show", word(0), "--warehouse", h.warehouse}, strings.NewReader(""), stdout, io.Discard)
		_ = stdout.Close()
		screen := strings.ReplaceAll(<-shown, "\r\n", "\n") // as on a terminal
		_ = terminal.Close()
		if bad := unclean(screen); code != cli.ExitOK || bad != "" || !strings.Contains(screen, `\u202e`) {
			t.Errorf("exit code %d, it has %s:\n%q", code, bad, screen)
		}
		if r := extract(t.Context(), "show", word(0), "--warehouse", h.warehouse); !strings.Contains(r.stdout, "\u202e") {
			t.Errorf("elsewhere it is not exact:\n%q", r.stdout)
		}
	})
	part("import", func(t *testing.T) {
		dump := filepath.Join(t.TempDir(), steering+"dump")
		test.OK(t, os.WriteFile(dump, []byte("{\"id\":\"\\u001b[2J\\n"+forged+"\"}\n"+foul+"\n"), 0o600)) // one that begins with a text is refused
		h.extract(cli.ExitIncomplete, "import", dump)
	})
	part("verify --deep", func(t *testing.T) {
		h.service.stage.Store(foulChanges)
		r := h.extract(cli.ExitFailed, "verify", "--deep")
		if !strings.Contains(r.stdout, `\x1b[2J`) || !strings.Contains(r.stdout, "different status: ") {
			t.Errorf("verify --deep names nothing:\n%s", r.stdout)
		}
	})
	part("refusals", func(t *testing.T) {
		for _, stage := range []int32{foulRefuses, foulKeys, foulLeads} {
			h.service.stage.Store(stage)
			h.run(cli.ExitFailed)
		}
		h.extract(cli.ExitIncomplete, "status", "--max-age", "0")
	})
	t.Run("runs", func(t *testing.T) {
		r := queryAs(t, "sql", "SELECT run_id, error, drift_fields FROM runs", "--format", "ndjson", "--warehouse", h.warehouse)
		rows := 0
		for line := range strings.Lines(r.stdout) {
			var row map[string]any
			test.OK(t, json.Unmarshal([]byte(line), &row))
			rows++
			for name, v := range row {
				fields := []string{fmt.Sprint(v)}
				if all, ok := v.(map[string]any); ok {
					for field := range all {
						fields = append(fields, field)
					}
				}
				for _, text := range fields {
					if bad, form := unclean(text), keyIn(text); bad != "" || form != "" || strings.Contains(text, "\n") {
						t.Errorf("runs.%s has %s %s: %q", name, bad, form, text)
					}
				}
			}
		}
		if rows < 5 || !strings.Contains(r.stdout, "[masked]") {
			t.Errorf("%d rows:\n%s%s", rows, r.stdout, r.stderr)
		}
	})
	t.Run("query", func(t *testing.T) { foulQueries(t, h) })
	t.Run("the calls are stored as they were sent", func(t *testing.T) {
		r := queryAs(t, "sql", "SELECT summary FROM calls", "--format", "json", "--warehouse", h.warehouse)
		var rows []struct{ Summary *string }
		if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil || len(rows) < 13 {
			t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
		}
		for _, row := range rows {
			if row.Summary != nil && *row.Summary != word(8) {
				t.Errorf("summary %q, want %q", *row.Summary, word(8))
			}
		}
		r = queryAs(t, "sql", "SELECT summary FROM calls WHERE summary IS NOT NULL LIMIT 1", "--format", "csv", "--warehouse", h.warehouse)
		if want := "summary\n\"" + strings.ReplaceAll(word(8), `"`, `""`) + "\"\n"; r.stdout != want {
			t.Errorf("CSV %q, want %q", r.stdout, want)
		}
	})
}

// foulQueries asks for all reports and tables in all formats for people. TestMessagesSteerNothing in querycmd
// tries what fails.
func foulQueries(t *testing.T, h *foulWarehouse) {
	ask := func(args ...string) result {
		t.Helper()
		r := queryAs(t, append(args, "--warehouse", h.warehouse)...)
		for name, text := range map[string]string{"stdout": r.stdout, "stderr": r.stderr} {
			if bad := unclean(text); bad != "" {
				t.Errorf("query %q: %s has %s:\n%q", args, name, bad, text)
			}
		}
		return r
	}
	for _, f := range sqlfiles.Reports() {
		args := []string{f.Name}
		switch f.Arguments {
		case "":
		case "CALL_ID":
			args = append(args, word(0))
		default:
			args = append(args, "forged")
		}
		ask(args...)
	}
	for _, format := range []string{"table", "markdown"} {
		for _, flags := range [][]string{{"--by", "agent"}, {"--by", "metadata." + steering + foulKey}, {"--by", foul}, {"--agent", "zz"}, {"--agent", word(1)[:2]}} {
			ask(append([]string{"sentiment", "--format", format}, flags...)...)
		}
		for _, text := range []string{"FROM calls", "FROM transcript_turns", "FROM analysis_items", "FROM runs", "SELECT summary AS \"" + steering + "\" FROM calls",
			"SELECT {'a': summary, 'b': [summary]} FROM calls", "SELECT encode(summary) FROM calls", "DESCRIBE SELECT 1 AS \"" + steering + "\"",
			"EXPLAIN SELECT summary || '" + steering + "' FROM calls"} {
			if r := ask("sql", text, "--format", format); r.stdout == "" {
				t.Errorf("%q: no answer: %s", text, r.stderr)
			}
		}
		ask("check", "--format", format)
	}
}

// A password or a key in the service's address is refused, and neither the message nor anything else repeats it.
func TestCredentialsInAddresses(t *testing.T) {
	t.Setenv("CALLHOUSE_API_KEY", "a-key-of-nobody")
	const secret = "hunter2%zz"
	for _, address := range []string{"http://user:hunter2@127.0.0.1:1", "http://user:" + secret + "@127.0.0.1:1", "http://hunter2@127.0.0.1:1", "http://user:hun/ter2@127.0.0.1",
		"http://127.0.0.1:1/?key=hunter2", "http://127.0.0.1:1?key=" + secret, "http://127.0.0.1:1#hunter2", "ftp://user:hunter2@127.0.0.1", "user:hunter2@127.0.0.1"} {
		warehouse := filepath.Join(t.TempDir(), "w")
		for _, args := range [][]string{{"run"}, {"plan"}, {"config"}} {
			r := extract(t.Context(), append(args, "--base-url", address, "--warehouse", warehouse)...)
			if want := cli.ExitUsage; args[0] != "config" && r.code != want {
				t.Errorf("%v with %s: exit code %d, want %d", args, address, r.code, want)
			}
			if said := r.stdout + r.stderr; strings.Contains(said, "hunter2") || strings.Contains(said, "ter2") {
				t.Errorf("%v says the secret of %s:\n%s", args, address, said)
			}
		}
		if _, err := os.Stat(warehouse); err == nil {
			nowhere(t, warehouse, "hunter2", "ter2")
		}
	}
}

// Sending the key over plain http to another machine causes a warning, once per run.
func TestPlainHTTPIsWarnedOf(t *testing.T) {
	longtest.Only(t)
	t.Setenv("CALLHOUSE_API_KEY", foulKey)
	s := newFoulService(t)
	s.stage.Store(foulKeys)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	for _, c := range []struct {
		address string
		times   int
	}{{"http://0.0.0.0:" + port, 1}, {s.url, 0}, {"http://localhost:" + port, 0}} {
		for _, args := range [][]string{{"run"}, {"run", "--quiet"}, {"plan"}} {
			r := extract(t.Context(), append(args, "--base-url", c.address, "--warehouse", filepath.Join(t.TempDir(), "w"), "--requests-per-second", "1000")...)
			if n := strings.Count(r.stderr, "unencrypted"); n != c.times {
				t.Errorf("%v %s: it warns %d times, want %d:\n%s", args, c.address, n, c.times, r.stderr)
			}
		}
	}
}
