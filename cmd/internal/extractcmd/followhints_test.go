package extractcmd

import (
	"encoding/json"
	"fmt"
	"net"
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
)

// With hints, records are fetched as calls end, polls become rare, and nothing is fetched twice. A
// forged hint costs one request.
func TestFollowHints(t *testing.T) {
	f := newFollowed(t)
	const secret = "0123456789abcdef"
	t.Setenv("CALLHOUSE_LISTEN_SECRET", secret)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	hint := func(id string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, "http://"+addr+"/hints", strings.NewReader(fmt.Sprintf(`{"call":{"call_id":%q}}`, id)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Callhouse-Secret", secret)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode != http.StatusNoContent {
			t.Errorf("a hint is answered with %s", answer.Status)
		}
	}
	stop := f.start("--listen", addr, "--follow-every", "1s..1h")
	f.until("the first poll", func(h *sink.History) bool {
		return h.Snapshot != nil && h.Holder.Follow != nil && h.Holder.Follow.Polled > 0
	})
	before := f.on.Server.Stats()
	begun, asked := f.clock.Now(), int64(0)
	ended := map[string]bool{}
	for len(ended) < 30 {
		f.clock.Advance(time.Minute)
		asked++
		for id, end := range f.newest() {
			if end.After(begun) && !ended[id] {
				ended[id] = true
				hint(id)
			}
		}
		f.until("the records of ended calls", func(*sink.History) bool {
			return f.on.Server.Stats().ByKind["detail"]-before.ByKind["detail"] >= int64(len(ended))*9/10-1
		})
	}
	hint("00000000-0000-4000-8000-000000000000")
	f.until("the forged one", func(*sink.History) bool { return f.on.Server.Stats().ByStatus["404"] > before.ByStatus["404"] })
	f.clock.Advance(time.Minute)
	if code := stop(); code != cli.ExitOK {
		t.Errorf("stopped: exit code %d", code)
	}
	after := f.on.Server.Stats()
	if pages := after.ByKind["page"] - before.ByKind["page"] - asked; pages > 8 {
		t.Errorf("%d polls in %v", pages, f.clock.Now().Sub(begun))
	}
	if after.DetailsUnchanged > 0 {
		t.Errorf("%d records were fetched again, and told nothing new", after.DetailsUnchanged)
	}
	details := after.ByKind["detail"]
	if code, stderr := f.extract(t.Context(), "run", "--verify-transcripts", "0", "--transcripts", "v3"); code != cli.ExitOK {
		t.Errorf("a run afterwards: %d, %s", code, stderr)
	}
	if n := f.on.Server.Stats().DetailsUnchanged; n > 0 || f.on.Server.Stats().ByKind["detail"]-details > 5 {
		t.Errorf("the run fetched %d records, %d of them again", f.on.Server.Stats().ByKind["detail"]-details, n)
	}
	if code, stderr := f.extract(t.Context(), "verify"); code != cli.ExitOK {
		t.Errorf("verify: %d, %s", code, stderr)
	}
}

// newest returns the end times of the newest calls that are over.
func (f *followed) newest() map[string]time.Time {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/v3/calls?limit=100", nil)
	r.Header.Set("Authorization", "Bearer sandbox-key")
	w := httptest.NewRecorder()
	f.on.Server.ServeHTTP(w, r)
	var page struct {
		Items []struct {
			ID     string `json:"id"`
			EndAt  int64  `json:"end_at"`
			OptOut bool   `json:"opt_out_sensitive_data_storage"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		f.t.Fatal(err)
	}
	out := map[string]time.Time{}
	for _, i := range page.Items {
		if i.EndAt > 0 && !i.OptOut {
			out[i.ID] = time.UnixMilli(i.EndAt)
		}
	}
	return out
}

// While the service fails, the process continues, and its state has the reason and the start of the
// failure.
func TestFollowFails(t *testing.T) {
	f := newFollowed(t)
	if code, stderr := f.extract(t.Context(), "run", "--verify-transcripts", "0"); code != cli.ExitOK {
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
	if err != nil {
		t.Fatal(err)
	}
	stats := f.on.Server.Stats()
	calls, requests := stats.DetailsDistinct-before.DetailsDistinct, stats.ByKind["detail"]-before.ByKind["detail"]
	if calls < 4 || late == 0 || requests > 2*calls {
		t.Errorf("%d requests for the transcripts of %d calls, %d of them too early", requests, calls, late)
	}
	if n := h.Runs[len(h.Runs)-1].CallsPending; n > 3 {
		t.Errorf("%d transcripts are missing", n)
	}
}
