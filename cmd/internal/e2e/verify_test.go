package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
)

// editor is a proxy of the sandbox that changes single calls.
type editor struct {
	company *company
	url     string
	// edit changes a call of a page or its own record; false: no such call. nil: no changes. It is
	// called for one call at a time.
	edit func(id string, call map[string]any) bool
	// whole changes an answer; nil: no changes.
	whole func(r *http.Request, body map[string]any)

	mu sync.Mutex // held by edit
}

func newEditor(c *company) *editor {
	e := &editor{company: c}
	s := httptest.NewServer(e)
	c.t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

func (e *editor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	e.company.service.Server.ServeHTTP(answer, r)
	w.Header().Set("Date", answer.Header().Get("Date"))
	body := answer.Body.Bytes()
	if answer.Code == http.StatusOK && (e.edit != nil || e.whole != nil) {
		all := parse(e.company.t, body).(objectJSON)
		if e.edit != nil && !e.edited(all) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":{"code":"NOT_FOUND","message":"no such call"}}`))
			return
		}
		if e.whole != nil {
			e.whole(r, all)
		}
		body = marshal(all)
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// edited edits the calls of a page, or a call's own record; false: there is no such call.
func (e *editor) edited(body objectJSON) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	items, isPage := body["items"].([]any)
	if !isPage {
		return e.edit(body["id"].(string), body)
	}
	body["items"] = slices.DeleteFunc(items, func(item any) bool {
		call := item.(objectJSON)
		return !e.edit(call["id"].(string), call)
	})
	return true
}

// endOf returns when a call ended, according to the service; 1970 for an ongoing one.
func endOf(call map[string]any) time.Time {
	end, _ := call["end_at"].(json.Number)
	ms, _ := end.Int64()
	return time.UnixMilli(ms)
}

func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// extract runs extract against the editor.
func (e *editor) extract(args ...string) result {
	e.company.t.Helper()
	return e.company.extract(e.company.t.Context(), append(args, "--base-url", e.url)...)
}

// deepReport is the part of verify's JSON used by the tests.
type deepReport struct {
	Count   int64 `json:"problems"`
	Service *struct {
		Requests int64    `json:"requests"`
		Listed   int64    `json:"calls_listed"`
		Calls    int64    `json:"calls_compared"`
		New      int64    `json:"new_at_the_service"`
		Moved    int64    `json:"not_settled_and_changed"`
		Gone     namedIDs `json:"no_longer_listed"`
		Missing  namedIDs `json:"missing"`
		States   namedIDs `json:"different_status"`
		Skipped  int64    `json:"calls_not_compared"`
		Stopped  string   `json:"stopped"`
	} `json:"service"`
}

type namedIDs struct {
	Count int64    `json:"count"`
	Calls []string `json:"calls"`
}

func (e *editor) verify(args ...string) (deepReport, result) {
	e.company.t.Helper()
	r := e.extract(append([]string{"verify", "--format", "json", "--quiet"}, args...)...)
	var rep deepReport
	if err := json.Unmarshal([]byte(r.stdout), &rep); err != nil {
		e.company.t.Fatalf("verify %v: exit code %d, %v\n%s%s", args, r.code, err, r.stdout, r.stderr)
	}
	return rep, r
}

// An old, settled call with turns and without opt-out, from the warehouse itself.
func (c *company) settledCall() string {
	c.t.Helper()
	id, ok := c.one(`SELECT min(call_id) AS v FROM calls WHERE settlement = 'settled' AND turn_count > 3 AND user_sentiment = 'neutral'
		AND start_at < (SELECT max(start_at) FROM calls) - INTERVAL 4 DAY`).(string)
	if !ok {
		c.t.Fatal("no call is fit")
	}
	return id
}

// The service's list is compared with the warehouse, and each difference is classified.
func TestVerifyDeep(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 21, Calls: 40, Days: 6}})
	e := newEditor(c)
	e.extract().exits(t, cli.ExitOK)
	id := c.settledCall()
	only := func(change func(map[string]any) bool) func(string, map[string]any) bool {
		return func(call string, fields map[string]any) bool { return call != id || change(fields) }
	}
	before := c.service.Server.Stats()
	for _, w := range []struct {
		name         string
		edit         func(string, map[string]any) bool
		code         int
		says         string
		gone, states int64
	}{
		{name: "identical", says: "\nconsistent with the service: compared "},
		{name: "a call is gone", edit: only(func(map[string]any) bool { return false }), gone: 1,
			says: "1 call is no longer listed by the service; the warehouse keeps them"},
		{name: "another status", code: cli.ExitIncomplete, states: 1, says: ` at the service`,
			edit: only(func(f map[string]any) bool { f["status"] = "error"; return true })},
		{name: "another analysis", says: "\nconsistent with the service: compared ",
			edit: only(func(f map[string]any) bool { f["call_analysis"] = nil; return true })},
	} {
		t.Run(w.name, func(t *testing.T) {
			e.edit = w.edit
			rep, r := e.verify("--deep")
			s := rep.Service
			if r.code != w.code || s == nil {
				t.Fatalf("exit code %d, want %d\n%s%s", r.code, w.code, r.stdout, r.stderr)
			}
			if s.Gone.Count != w.gone || s.States.Count != w.states || s.Missing.Count > 0 || s.New > 0 || s.Skipped > 0 || s.Calls+w.gone != 40 {
				t.Errorf("found %+v", s)
			}
			for _, named := range append(s.Gone.Calls, s.States.Calls...) {
				if !strings.Contains(named, id) {
					t.Errorf("%q does not name %s", named, id)
				}
			}
			text := e.extract("verify", "--deep", "--quiet")
			if !strings.Contains(text.stdout, w.says) || text.code != w.code {
				t.Errorf("exit code %d, it does not say %q:\n%s", text.code, w.says, text.stdout)
			}
		})
	}
	if t.Failed() {
		return
	}
	e.edit = nil
	if rep, r := e.verify(); r.code != cli.ExitOK || rep.Service != nil {
		t.Errorf("without --deep: exit code %d, %+v", r.code, rep.Service)
	}
	// Nothing of it is in the warehouse, and only the list was requested.
	after := c.service.Server.Stats()
	if n := after.ByKind["detail"] - before.ByKind["detail"]; n != 0 || after.Requests == before.Requests {
		t.Errorf("%d details were requested, in %d requests", n, after.Requests-before.Requests)
	}
	c.mustExtract()
	sameAsTruth(t, c)
}

// A call that was not in the list when its time was recorded is missing; a new or forgotten one is
// not.
func TestVerifyDeepFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 22, Calls: 120, Days: 8}})
	e := newEditor(c)
	hidden := ""
	e.edit = func(id string, call map[string]any) bool {
		var start int64
		if n, ok := call["start_at"].(json.Number); ok {
			start, _ = n.Int64()
		}
		if hidden == "" && start != 0 && start < c.clock.Now().Add(-5*24*time.Hour).UnixMilli() {
			hidden = id
		}
		return id != hidden
	}
	if r := e.extract(); r.code != cli.ExitOK || hidden == "" {
		t.Fatal(r.stderr)
	}
	forgotten := c.settledCall()
	e.extract("forget", "--call-id", forgotten, "--yes").exits(t, cli.ExitOK)
	c.clock.Advance(36 * time.Hour) // a time with calls, whatever the day
	e.edit = nil
	rep, r := e.verify("--deep")
	if s := rep.Service; r.code != cli.ExitFailed || s.Missing.Count != 1 || !strings.Contains(s.Missing.Calls[0], hidden) || s.New == 0 ||
		s.Gone.Count != 0 || s.States.Count != 0 {
		t.Errorf("exit code %d: %+v\n%s", r.code, s, r.stderr)
	}
	if !strings.Contains(r.stderr, "1 call is missing in the warehouse\n") || !strings.Contains(r.stderr, "extract run --full") {
		t.Errorf("it says:\n%s", r.stderr)
	}
	// With a later start nothing is missing.
	if rep, r := e.verify("--deep", "--since", "4d"); r.code != cli.ExitOK || rep.Service.Missing.Count+rep.Service.Skipped != 0 || rep.Service.Calls == 0 {
		t.Errorf("exit code %d: %+v\n%s", r.code, rep.Service, r.stderr)
	}
	// The suggested remedy works.
	e.extract("--full").exits(t, cli.ExitOK)
	if rep, r := e.verify("--deep"); r.code != cli.ExitOK || rep.Service.Missing.Count != 0 || rep.Service.New != 0 {
		t.Errorf("exit code %d: %+v\n%s", r.code, rep.Service, r.stderr)
	}
}

// Verify counts its requests against the budget of later runs, ends cleanly at a time limit, and does
// not call a list consistent that it could not read.
func TestVerifyDeepKeepsToTheBudget(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 23, Calls: 120, Days: 6}})
	e := newEditor(c)
	e.extract().exits(t, cli.ExitOK)
	before := c.service.Server.Stats()
	rep, r := e.verify("--deep")
	after := c.service.Server.Stats()
	pages := after.ByKind["page"] - before.ByKind["page"]
	if s := rep.Service; r.code != cli.ExitOK || s.Requests != pages || after.Requests-before.Requests != pages || pages > 4 {
		t.Errorf("exit code %d, %d pages were requested: %+v", r.code, pages, s)
	}
	// The minute's requests are spent for the next command as well.
	s := current(t, c.warehouse)
	rep, r = e.verify("--deep", "--requests-per-minute", "2", "--requests-per-second", "2", "--max-duration", "300ms")
	if r.code != cli.ExitIncomplete || rep.Service.Stopped == "" || rep.Service.Requests != 0 || rep.Service.Skipped == 0 || rep.Service.Gone.Count > 0 {
		t.Errorf("exit code %d: %+v\n%s", r.code, rep.Service, r.stderr)
	}
	text := e.extract("verify", "--deep", "--requests-per-minute", "2", "--requests-per-second", "2", "--max-duration", "300ms")
	if !strings.Contains(text.stdout, "consistent with the part of the list that was read") {
		t.Errorf("it says:\n%s", text.stdout)
	}
	if now, err := layout.Current(c.warehouse); err != nil || now.Manifest.Snapshot != s.Manifest.Snapshot {
		t.Errorf("verify made a snapshot: %v", err)
	}
	for args, says := range map[string]string{"--since 5d": "require --deep", "--deep --share 3": "--share"} {
		e.extract(append([]string{"verify"}, strings.Fields(args)...)...).reports(t, cli.ExitUsage, says)
	}
}
