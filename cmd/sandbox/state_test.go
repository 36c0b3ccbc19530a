package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"callhouse/internal/test"
)

// process is a sandbox that can be killed.
type process struct {
	*exec.Cmd
	t        *testing.T
	url      string
	greeting string
}

func start(t *testing.T, args string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), t: t}
	p.Env = append(os.Environ(), "SANDBOX_ARGS="+args+" --addr 127.0.0.1:0 --requests-per-second 0 --requests-per-minute 0")
	stderr, err := p.StderrPipe()
	test.OK(t, err)
	test.OK(t, p.Start())
	t.Cleanup(p.kill)
	for lines := bufio.NewScanner(stderr); !strings.Contains(p.greeting, "Ctrl-C"); {
		if !lines.Scan() {
			t.Fatal(p.greeting)
		}
		p.greeting += lines.Text() + "\n"
	}
	p.url = regexp.MustCompile(`CALLHOUSE_BASE_URL=(\S+)`).FindStringSubmatch(p.greeting)[1]
	return p
}

// kill sends SIGKILL.
func (p *process) kill() {
	if p.ProcessState == nil {
		_ = p.Process.Kill() // it may have ended
		_ = p.Wait()
	}
	http.DefaultClient.CloseIdleConnections()
}

// ask returns the answer as text; empty if there is none.
func (p *process) ask(method, path, body string) string {
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return ""
	}
	r.Header.Set("Authorization", "Bearer sandbox-key")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode >= 300 {
		return ""
	}
	return string(text)
}

// TestKilledSandboxGoesOn kills a sandbox while it is idle, and while clients write.
func TestKilledSandboxGoesOn(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.ndjson")
	looks := []string{"/v3/agents", "/v3/calls", "/v3/campaigns", "/sandbox/truth", "/sandbox/clock", "/sandbox/edits/agents"}
	look := func(p *process) (all []string) {
		for _, path := range looks {
			answer := p.ask("GET", path, "")
			if answer == "" {
				t.Fatalf("no answer to GET %s", path)
			}
			all = append(all, answer)
		}
		return all
	}
	p := start(t, "--calls 30 --agents 4 --seed 3 --campaigns 1 --clock frozen --state "+state)
	if !strings.Contains(p.greeting, "state   "+state+", new\n") {
		t.Error(p.greeting)
	}
	var agent struct{ ID string }
	test.OK(t, json.Unmarshal([]byte(p.ask("POST", "/v3/agents", `{"name":"Mine"}`)), &agent))
	p.ask("POST", "/v2/campaigns", fmt.Sprintf(`{"name":"Spring","call_from":"021","agent_id":%q,"tasks":[{"call_to":"010"}]}`, agent.ID))
	p.ask("POST", "/sandbox/clock", `{"advance":"20s"}`)
	before := look(p)
	p.kill()

	p = start(t, "--state "+state)
	test.Same(t, before, look(p), "(-want +got)")
	var mu sync.Mutex
	var kept []string
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for {
				answer := p.ask("POST", "/v3/agents", `{"name":"Mine"}`)
				if answer == "" {
					return
				}
				mu.Lock()
				kept = append(kept, answer)
				if len(kept) == 8 {
					_ = p.Process.Kill()
				}
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	p.kill()

	// As if the kill had happened in the middle of a line.
	f, err := os.OpenFile(state, os.O_APPEND|os.O_WRONLY, 0)
	test.OK(t, err)
	_, _ = f.WriteString(`{"at":17`)
	_ = f.Close()
	p = start(t, "--seed 3 --state "+state)
	if !strings.Contains(p.greeting, "; an incomplete last line was dropped") {
		t.Error(p.greeting)
	}
	for _, answer := range kept {
		test.OK(t, json.Unmarshal([]byte(answer), &agent))
		if is := p.ask("GET", "/v3/agents/"+agent.ID, ""); is == "" {
			t.Errorf("%s was made, and is gone", agent.ID)
		}
	}
	if n := strings.Count(p.ask("GET", "/v3/agents?q=mine", ""), `"id"`); n < 1+len(kept) || n > 1+len(kept)+3 {
		t.Errorf("%d agents, %d answers", n, len(kept))
	}
	for args, want := range map[string]string{
		"--state " + state:                          "another sandbox is using it\n         stop that sandbox, or use another file with --state",
		"--state " + t.TempDir():                    "use another file with --state",
		"--state " + filepath.Join(state, "folder"): "use another file with --state",
	} {
		refused(t, args, 1, want)
	}
	p.kill()
	for args, want := range map[string]string{
		"--seed 4":             "state.ndjson was written with --seed \"3\", not \"4\"\n         remove the flag, or use another file with --state",
		"--clock real":         `was written with --clock "frozen", not "real"`,
		"--organisation large": `was written with --organisation "small", not "large"`,
	} {
		refused(t, args+" --state "+state, 2, want)
	}
	damage(t, state, `"name":"Mine"`, `"name":"Mine"!`)
	refused(t, "--state "+state, 1, "state, line 2: read a write: invalid character '!'")
	damage(t, state, `"name":"Mine"!`, `"name":"Mine"`)
	damage(t, state, `{"sandbox_state":1`, `{"sandbox_state":2`)
	refused(t, "--state "+state, 1, "written by a later version of sandbox")
	fresh := filepath.Join(t.TempDir(), "fresh")
	refused(t, "--agents 1000 --state "+fresh, 2, "agents must be 0 to 200")
	if text, err := os.ReadFile(fresh); err != nil || len(text) > 0 {
		t.Errorf("flags that are not valid were kept: %q", text)
	}
}

// TestStateOfAScenario starts a scenario twice: its initial changes are made once.
func TestStateOfAScenario(t *testing.T) {
	state := " --state " + filepath.Join(t.TempDir(), "state.ndjson")
	var first string
	for i, args := range []string{"--scenario campaign", "", "--scenario campaign --pace 0"} {
		p := start(t, args+state)
		list := p.ask("GET", "/sandbox/edits/agents", "")
		if i == 0 {
			first = list
		}
		if strings.Count(list, `"name": "Reminders"`) != 1 || list != first {
			t.Errorf("sandbox %s: %s", args, list)
		}
		p.kill()
	}
	refused(t, "--scenario large"+state, 2, `was written with --agents "0", not "82"`)
}

func refused(t *testing.T, args string, code int, want string) {
	t.Helper()
	var stderr bytes.Buffer
	if got := run(t.Context(), strings.Fields(args), strings.NewReader(""), io.Discard, &stderr); got != code ||
		!strings.Contains(stderr.String(), want) {
		t.Errorf("sandbox %s: exit %d, %s", args, got, stderr.String())
	}
}

// damage replaces the first occurrence of a text in a file.
func damage(t *testing.T, name, from, to string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(text, []byte(from)) {
		t.Fatalf("%v in %s", err, text)
	}
	test.OK(t, os.WriteFile(name, bytes.Replace(text, []byte(from), []byte(to), 1), 0o644))
}
