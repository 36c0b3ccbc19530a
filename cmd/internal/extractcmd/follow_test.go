package extractcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

// followed is a service with a fast clock, and a warehouse that follows it.
type followed struct {
	t         *testing.T
	step      atomic.Int64 // how far each page of the list advances the clock
	fault     atomic.Value // of pages
	clock     *sandbox.ManualClock
	on        *sandbox.Running
	warehouse string
	args      []string
}

func newFollowed(t *testing.T) *followed {
	t.Helper()
	now := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	f := &followed{t: t, clock: sandbox.NewManualClock(now), warehouse: filepath.Join(t.TempDir(), "w")}
	f.fault.Store("")
	server, err := sandbox.New(sandbox.Options{World: sandbox.Config{Calls: 800, Days: 1, Steady: true, Origin: now}, Clock: f.clock,
		PerSecond: -1, PerMinute: -1, Inject: func(_ int64, r sandbox.Request) sandbox.FaultKind {
			if r.Kind == "page" {
				f.clock.Advance(time.Duration(f.step.Load()))
				return sandbox.FaultKind(f.fault.Load().(string))
			}
			return ""
		}})
	test.OK(t, err)
	f.on, err = sandbox.Listen(t.Context(), "127.0.0.1:0", server)
	test.OK(t, err)
	t.Cleanup(func() { _ = f.on.Close() })
	f.args = []string{"--base-url", f.on.URL, "--warehouse", f.warehouse, "--resources", "none", "--quiet",
		"--requests-per-second", "1000", "--requests-per-minute", "60000"}
	t.Setenv("CALLHOUSE_API_KEY", "sandbox-key")
	return f
}

func (f *followed) extract(ctx context.Context, args ...string) (code int, stderr string) {
	var errs bytes.Buffer
	if args[0] != "verify" { // the latest calls are enough
		args = append(args, "--since", "4h")
	}
	code = Program{Now: f.clock.Now, Env: cmdtest.Env()}.Run(ctx, append(args, f.args...), strings.NewReader(""), io.Discard, &errs)
	return code, errs.String()
}

// run does what a night does.
func (f *followed) run() {
	f.t.Helper()
	if code, stderr := f.extract(f.t.Context(), "run"); code != cli.ExitOK {
		f.t.Fatalf("run: %d, %s", code, stderr)
	}
	f.clock.Advance(time.Second) // runs are sorted by start
}

// status returns the exit code and output of extract status.
func (f *followed) status() (code int, stdout string) {
	var out bytes.Buffer
	code = Program{Now: f.clock.Now, Env: cmdtest.Env()}.Run(f.t.Context(), []string{"status", "--warehouse", f.warehouse}, strings.NewReader(""), &out, io.Discard)
	return code, out.String()
}

// start follows the service until stop is called.
func (f *followed) start(args ...string) (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan int, 1)
	go func() {
		code, stderr := f.extract(ctx, append([]string{"follow", "--follow-every", "1s..1s"}, args...)...)
		if stderr != "" {
			f.t.Log(stderr)
		}
		ended <- code
	}()
	return func() {
		cancel()
		if code := <-ended; code != cli.ExitOK {
			f.t.Errorf("stopped: exit code %d", code)
		}
	}
}

// until advances the service's time until done: by a minute per poll, but not during commits, whose
// duration determines when the next one is due.
func (f *followed) until(what string, done func(h *sink.History) bool) {
	f.t.Helper()
	f.step.Store(int64(time.Minute))
	defer f.step.Store(0)
	f.await(what, done)
}

// await waits until done, which is asked once the process has written its state: it has the lock before that.
func (f *followed) await(what string, done func(h *sink.History) bool) {
	f.t.Helper()
	for range 600 {
		h, err := sink.ReadHistory(f.warehouse)
		if err == nil && h.Held && h.Holder.Follow != nil && done(h) {
			return
		}
		time.Sleep(200 * time.Millisecond) // the process uses the real clock
	}
	h, err := sink.ReadHistory(f.warehouse)
	f.t.Fatalf("it did not come to: %s; %v, %+v, %+v", what, err, h.Holder.Follow, h.Runs)
}

// A process that follows the service has calls and transcripts minutes after they end, repeats no
// request, and leaves one row in runs and everything committed.
func TestFollow(t *testing.T) {
	f := newFollowed(t)
	stop := f.start()
	f.until("the first sweep", func(h *sink.History) bool { return h.Snapshot != nil && h.Holder.Follow.Polled > 0 })
	begun := f.clock.Now()
	if code, stderr := f.extract(t.Context(), "follow"); code != cli.ExitLocked || !strings.Contains(stderr, "extract follow holds") {
		t.Errorf("a second one: exit code %d, %s", code, stderr)
	}
	f.until("transcripts of new calls", func(h *sink.History) bool {
		last := h.Runs[len(h.Runs)-1]
		return last.Outcome == schema.OutcomeFollowing && last.CallsNew > 0 && last.Transcripts > 0
	})
	f.until("ten minutes", func(*sink.History) bool { return f.clock.Now().Sub(begun) > 10*time.Minute })
	stop()
	h, err := sink.ReadHistory(f.warehouse)
	test.OK(t, err)
	if n := len(h.Runs); n != 2 || h.Runs[0].Outcome != schema.OutcomeDone || h.Runs[1].Outcome != schema.OutcomeFollowed || !h.Runs[1].EndedAt.OK {
		t.Errorf("runs: %+v", h.Runs)
	}
	if h.Journal > 0 {
		t.Errorf("%d bytes were left in the journal", h.Journal)
	}
	if commits := h.Runs[len(h.Runs)-1].Commits; commits > 20 {
		t.Errorf("%d commits", commits)
	}
	if stats := f.on.Server.Stats(); stats.DetailsUnchanged > 0 {
		t.Errorf("%d records were fetched again, and told nothing new", stats.DetailsUnchanged)
	}
	if at := time.UnixMilli(h.Snapshot.Manifest.Watermark); f.clock.Now().Sub(at) > 15*time.Minute {
		t.Errorf("the newest call started at %v, now it is %v", at, f.clock.Now())
	}
	// A second process lists the newest calls again, but does not fetch their records again.
	stop = f.start()
	again := f.clock.Now()
	f.until("five minutes more", func(*sink.History) bool { return f.clock.Now().Sub(again) > 5*time.Minute })
	stop()
	if n := f.on.Server.Stats().DetailsAgain; n > 0 {
		t.Errorf("the second process: %d records fetched again", n)
	}
	// A run completes the rest without fetching anything again.
	f.run()
	if code, stderr := f.extract(t.Context(), "verify"); code != cli.ExitOK {
		t.Errorf("verify: %d, %s", code, stderr)
	}
	if stats := f.on.Server.Stats(); stats.DetailsUnchanged > 0 {
		t.Errorf("the run fetched %d records again", stats.DetailsUnchanged)
	}
}

// A poll without changes costs one request, and makes no commit.
func TestFollowIdle(t *testing.T) {
	f := newFollowed(t)
	f.run()
	before := f.on.Server.Stats().Requests
	stop := f.start()
	f.await("three polls", func(h *sink.History) bool { return h.Holder.Follow.Requests >= 3 }) // the clock stands still: nothing happens
	stop()
	h, err := sink.ReadHistory(f.warehouse)
	test.OK(t, err)
	stats, last := f.on.Server.Stats(), h.Runs[len(h.Runs)-1]
	if n := stats.Requests - before; n < 3 || last.PageRequests != n || last.Commits > 1 || stats.DetailsUnchanged > 0 {
		t.Errorf("%d requests, %d of them pages, %d commits, %d records without news", n, last.PageRequests, last.Commits, stats.DetailsUnchanged)
	}
}

// A refused key ends the process; an outage of the service does not.
func TestFollowEnds(t *testing.T) {
	f := newFollowed(t)
	f.run()
	t.Setenv("CALLHOUSE_API_KEY", "another-key")
	if code, stderr := f.extract(t.Context(), "follow", "--adopt"); code != cli.ExitFailed || !strings.Contains(stderr, "key") {
		t.Errorf("a refused key: exit code %d, %s", code, stderr)
	}
	for _, args := range [][]string{{"--follow-every", "10m..1m"}, {"--follow-every", "often"}, {"--tz", "Nowhere"}} {
		if code, stderr := f.extract(t.Context(), append([]string{"follow"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// A wait that the service asks for is waited for: neither a poll nor a sweep comes sooner.
func TestFollowWaitsAsRequested(t *testing.T) {
	now := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	s := new(settings)
	s.Clock, s.Warehouse, s.Secrets = api.NewClock(func() time.Time { return now }), filepath.Join(t.TempDir(), "w"), words.NewSecrets()
	f := &follower{settings: s, log: slog.New(slog.DiscardHandler), pace: crawler.Pace{Min: time.Second, Max: 10 * time.Minute}}
	f.failed(fmt.Errorf("poll: %w", &api.ServiceDownError{Wait: 2 * time.Hour, Err: errors.New("429")}))
	for range 20 { // as often as it fails
		test.Same(t, 2*time.Hour, f.backoff(), "the next request is")
		f.failed(errors.New("reset"))
	}
	next, err := f.nextSweep()
	if err != nil || !next.Equal(now.Add(2*time.Hour)) {
		t.Errorf("the next sweep is at %v, %v", next, err)
	}
	now = now.Add(3 * time.Hour)
	if wait := f.backoff(); wait > f.pace.Max {
		t.Errorf("after the wait, the next request is in %v", wait)
	}
}

// An evaluation of the alert rules that takes too long is stopped.
func TestAlertPatience(t *testing.T) {
	dir, s, said := t.TempDir(), &settings{Secrets: words.NewSecrets()}, new(bytes.Buffer)
	test.OK(t, os.WriteFile(filepath.Join(dir, "query"), []byte("#!/bin/sh\nexec sleep 9999\n"), 0o700))
	t.Setenv("PATH", dir)
	s.Alerts, s.Warehouse = "alerts.toml", dir
	alert(t.Context(), s, slog.New(slog.NewTextHandler(said, nil)), time.Millisecond)
	if !strings.Contains(said.String(), "not all evaluated") || followTimeout > time.Minute/2 {
		t.Errorf("with a limit of %v: %s", followTimeout, said)
	}
}

// While the service fails, the process continues, and its state has the reason and the start of the failure.
func TestFollowFails(t *testing.T) {
	longtest.Only(t)
	f := newFollowed(t)
	f.run()
	f.fault.Store(string(sandbox.FaultHuge))
	stop := f.start()
	f.until("the failure", func(h *sink.History) bool { return h.Holder.Follow.Failing > 0 && h.Holder.Follow.Error != "" })
	if code, out := f.status(); !strings.Contains(out, "failing for") {
		t.Errorf("status: %d, %s", code, out)
	}
	f.fault.Store("")
	f.until("the end of the failure", func(h *sink.History) bool {
		return h.Holder.Follow.Polled > 0 && h.Holder.Follow.Failing == 0 && h.Holder.Follow.Error == ""
	})
	stop()
}

// Transcripts that the service has only some time after a call's end are fetched with few extra
// requests, although nightly runs would wait for half an hour.
func TestFollowLateTranscripts(t *testing.T) {
	longtest.Only(t) // it follows by the real clock; TestTranscriptMayComeLate in calls has the pauses
	f := newFollowed(t)
	f.run()
	late := int64(0)
	begun := f.clock.Now()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		f.on.Server.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		var call map[string]json.RawMessage
		if json.Unmarshal(body, &call) == nil && call["transcript"] != nil {
			end, _ := strconv.ParseInt(string(call["end_at"]), 10, 64)
			if f.clock.Now().UnixMilli() < end+100_000 && string(call["transcript"]) != "null" {
				atomic.AddInt64(&late, 1)
				call["transcript"], call["call_analysis"] = json.RawMessage("null"), json.RawMessage("null")
				body, _ = json.Marshal(call)
			}
		}
		w.Header().Set("Date", answer.Header().Get("Date"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	}))
	defer proxy.Close()
	f.args[1] = proxy.URL
	before := f.on.Server.Stats()
	stop := f.start("--adopt")
	f.until("a quarter of an hour", func(*sink.History) bool { return f.clock.Now().Sub(begun) > 15*time.Minute })
	stop()
	h, err := sink.ReadHistory(f.warehouse)
	test.OK(t, err)
	stats := f.on.Server.Stats()
	calls, requests := stats.DetailsDistinct-before.DetailsDistinct, stats.ByKind["detail"]-before.ByKind["detail"]
	if calls < 4 || late == 0 || requests > 2*calls {
		t.Errorf("%d requests for the transcripts of %d calls, %d of them too early", requests, calls, late)
	}
	if n := h.Runs[len(h.Runs)-1].CallsPending; n > 3 {
		t.Errorf("%d transcripts are missing", n)
	}
}
