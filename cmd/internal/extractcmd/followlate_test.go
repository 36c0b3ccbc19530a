package extractcmd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// While the service fails, the process continues, and its state has the reason and the start of the
// failure.
func TestFollowFails(t *testing.T) {
	f := newFollowed(t)
	if code, stderr := f.extract(t.Context(), "run"); code != cli.ExitOK {
		t.Fatalf("run: %d, %s", code, stderr)
	}
	f.clock.Advance(time.Second)
	f.fault.Store(string(sandbox.FaultHuge))
	stop := f.start()
	f.until("the failure", func(h *sink.History) bool {
		return h.Held && h.Holder.Follow.Failing > 0 && h.Holder.Follow.Error != ""
	})
	if code, out := f.status(); !strings.Contains(out, "failing for") {
		t.Errorf("status: %d, %s", code, out)
	}
	f.fault.Store("")
	f.until("the end of the failure", func(h *sink.History) bool {
		return h.Held && h.Holder.Follow.Polled > 0 && h.Holder.Follow.Failing == 0 && h.Holder.Follow.Error == ""
	})
	if code := stop(); code != cli.ExitOK {
		t.Errorf("stopped: exit code %d", code)
	}
}

// Transcripts that the service has only some time after a call's end are fetched with few extra
// requests, although nightly runs would wait for half an hour.
func TestFollowLateTranscripts(t *testing.T) {
	f := newFollowed(t)
	if code, stderr := f.extract(t.Context(), "run"); code != cli.ExitOK {
		t.Fatalf("run: %d, %s", code, stderr)
	}
	f.clock.Advance(time.Second)
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
	if code := stop(); code != cli.ExitOK {
		t.Errorf("stopped: exit code %d", code)
	}
	h, err := sink.ReadHistory(f.house)
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
