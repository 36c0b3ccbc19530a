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
	"callhouse/internal/longtest"
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
	body["total_count"] = nil // a call less would be missed
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

// verify --deep compares the service's list with the warehouse, and classifies each difference: a
// call that was not in the list when its time was recorded is missing; a new or forgotten one is not.
// It changes nothing, counts its requests against the budget of later runs, ends cleanly at a time
// limit, and does not call a list consistent that it could not read.
func TestVerifyDeep(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 22, Calls: 70, Days: 6}})
	e := newEditor(c)
	hidden, gone, other := "", "", ""
	e.edit = func(id string, call map[string]any) bool {
		start, _ := call["start_at"].(json.Number).Int64()
		if hidden == "" && start != 0 && start < c.clock.Now().Add(-5*24*time.Hour).UnixMilli() {
			hidden = id
		}
		return id != hidden
	}
	if r := e.extract(); r.code != cli.ExitOK || hidden == "" {
		t.Fatal(r.stderr)
	}
	e.edit = nil
	forgotten := c.settledCall()
	e.extract("forget", "--call-id", forgotten, "--yes").exits(t, cli.ExitOK)
	before, s := c.service.Server.Stats(), current(t, c.warehouse)
	rep, r := e.verify("--deep", "--since", "4d")
	after := c.service.Server.Stats()
	if n := after.Requests - before.Requests; r.code != cli.ExitOK || rep.Service.Calls == 0 || rep.Service.Missing.Count+rep.Service.Skipped != 0 ||
		rep.Service.Requests != n || after.ByKind["page"]-before.ByKind["page"] != n {
		t.Errorf("consistent since four days: exit code %d, %d requests: %+v\n%s", r.code, n, rep.Service, r.stderr)
	}
	e.extract("verify", "--deep", "--since", "4d", "--quiet").prints(t, cli.ExitOK, "\nconsistent with the service: compared ")

	c.clock.Advance(36 * time.Hour) // a time with calls, whatever the day
	gone = c.settledCall()
	e.edit = func(id string, call map[string]any) bool {
		if other == "" && id != gone && call["status"] == "ended" && endOf(call).Before(c.clock.Now().Add(-72*time.Hour)) {
			other = id
		}
		if id == other {
			call["status"], call["call_analysis"] = "error", nil // another analysis alone is no difference
		}
		return id != gone
	}
	rep, r = e.verify("--deep")
	if s := rep.Service; r.code != cli.ExitFailed || s.New == 0 || !slices.Equal([]int64{s.Missing.Count, s.Gone.Count, s.States.Count}, []int64{1, 1, 1}) ||
		!strings.Contains(s.Missing.Calls[0], hidden) || !strings.Contains(s.Gone.Calls[0], gone) || !strings.Contains(s.States.Calls[0], other) {
		t.Errorf("exit code %d: %+v\n%s", r.code, s, r.stderr)
	}
	if !strings.Contains(r.stderr, "1 call is missing in the warehouse\n") || !strings.Contains(r.stderr, " --full") {
		t.Errorf("it says:\n%s", r.stderr)
	}
	e.extract("verify", "--deep", "--quiet").prints(t, cli.ExitFailed, "1 call is no longer listed by the service; the warehouse keeps them", ` at the service`)

	// The minute's requests are spent for the next command as well.
	slow := []string{"--deep", "--requests-per-minute", "2", "--requests-per-second", "2", "--max-duration", "300ms"}
	rep, r = e.verify(slow...)
	if r.code != cli.ExitIncomplete || rep.Service.Stopped == "" || rep.Service.Requests != 0 || rep.Service.Skipped == 0 || rep.Service.Gone.Count > 0 {
		t.Errorf("exit code %d: %+v\n%s", r.code, rep.Service, r.stderr)
	}
	e.extract(append([]string{"verify"}, slow...)...).prints(t, cli.ExitIncomplete, "consistent with the part of the list that was read")
	if now := current(t, c.warehouse).Manifest.Snapshot; now != s.Manifest.Snapshot {
		t.Errorf("verify made snapshot %d", now)
	}
	for args, says := range map[string]string{"--since 5d": "require --deep", "--deep --share 3": "--share"} {
		e.extract(append([]string{"verify"}, strings.Fields(args)...)...).reports(t, cli.ExitUsage, says)
	}
	// The suggested remedy works.
	e.edit = nil
	e.extract("--full").exits(t, cli.ExitOK)
	if rep, r := e.verify("--deep"); r.code != cli.ExitOK || rep.Service.Missing.Count != 0 || rep.Service.New != 0 {
		t.Errorf("exit code %d: %+v\n%s", r.code, rep.Service, r.stderr)
	}
}
