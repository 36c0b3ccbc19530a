package extractcmd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sink/everybyte"
	"callhouse/internal/test"
)

// namer is a service that recognizes the names of customers, or fails.
type namer struct {
	t      *testing.T
	names  []string
	down   atomic.Bool
	asked  atomic.Int64
	secret string
}

func (n *namer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.asked.Add(1)
	var q struct{ Text string }
	raw := new(bytes.Buffer)
	_, _ = raw.ReadFrom(r.Body)
	if bytes.Contains(raw.Bytes(), []byte(n.secret)) || strings.Contains(strings.Join(r.Header.Values("Authorization"), ""), n.secret) {
		n.t.Error("the API key was sent")
	}
	if n.down.Load() || json.Unmarshal(raw.Bytes(), &q) != nil {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	found := []map[string]any{}
	for _, name := range n.names {
		for at := 0; ; at += len(name) {
			i := strings.Index(q.Text[at:], name)
			if i < 0 {
				break
			}
			at += i
			start := utf8.RuneCountInString(q.Text[:at])
			found = append(found, map[string]any{"entity_type": "PERSON", "start": start, "end": start + utf8.RuneCountInString(name), "score": .9})
		}
	}
	_ = json.NewEncoder(w).Encode(found)
}

// leftNames returns the names that occur in the files of a folder.
func (n *namer) left(house string) (left []string) {
	everybyte.Under(n.t, house, func(at string, raw []byte) {
		for _, name := range n.names {
			if bytes.Contains(raw, []byte(name)) {
				left = append(left, at+": "+name)
			}
		}
	})
	return left
}

// Calls that the service did not check are stored without their texts, and requested again. No name
// that it finds is ever stored.
func TestRedactService(t *testing.T) {
	t.Setenv("CALLHOUSE_RESOURCES", "none")
	x := newRevealing(t, 60)
	n := &namer{t: t, secret: "sandbox-key"}
	for _, family := range []string{"김", "이", "박", "최", "정"} {
		for _, given := range []string{"민지", "서준", "은주", "지훈", "수진", "하준", "서연", "도윤", "지우", "현우"} {
			n.names = append(n.names, family+given)
		}
	}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	plain := filepath.Join(t.TempDir(), "plain")
	x.must(plain, "run")
	if len(n.left(plain)) == 0 {
		t.Fatal("no call names anybody")
	}
	house := filepath.Join(t.TempDir(), "w")
	n.down.Store(true)
	code, out := x.extract(house, "run", "--redact", "all", "--redact-service", server.URL)
	if code != cli.ExitIncomplete || !strings.Contains(out, "unchecked") || !strings.Contains(out, "0 fetched (0 turns)") {
		t.Errorf("with a service that fails: exit code %d\n%s", code, out)
	}
	if asked := n.asked.Load(); asked == 0 || asked > 20 {
		t.Errorf("%d requests to a service that fails", asked)
	}
	if left := append(n.left(house), mustLeft(x, house)...); len(left) > 0 {
		t.Errorf("stored: %v", left)
	}
	if code, out := x.extract(house, "run"); code != cli.ExitUsage || !strings.Contains(out, "redact_service") {
		t.Errorf("without the service: exit code %d\n%s", code, out)
	}
	n.down.Store(false)
	out = x.must(house, "run", "--redact-service", server.URL)
	if !strings.Contains(out, " person") || strings.Contains(out, "unchecked") || !strings.Contains(out, " 0 pending") {
		t.Errorf("with the service: %s", out)
	}
	if left := append(n.left(house), mustLeft(x, house)...); len(left) > 0 {
		t.Errorf("stored: %v", left[:min(len(left), 10)])
	}
	s, err := layout.Current(house)
	if err != nil || len(s.Manifest.Redaction.Service) != 2 || len(s.Manifest.Redaction.Kinds) == 0 {
		t.Errorf("%+v, %v", s.Manifest.Redaction, err)
	}
	x.must(house, "verify", "--redacted")

	// An import without the service's answers is incomplete, and is repeated once it answers.
	dump := filepath.Join(t.TempDir(), "dump.jsonl")
	body := `{"call_id":"imported","start_timestamp":1795079700000,"metadata":{"who":"` + n.names[0] + `"},"transcript":[{"role":"user","content":"저는 ` +
		n.names[0] + `입니다"}]}`
	test.OK(t, os.WriteFile(dump, []byte(body+"\n"), 0o600))
	n.down.Store(true)
	if code, out := x.extract(house, "import", dump, "--redact-service", server.URL); code != cli.ExitIncomplete || !strings.Contains(out, "import the files again") {
		t.Errorf("import: exit code %d\n%s", code, out)
	}
	if got := x.must(house, "show", "imported"); strings.Contains(got, "who") || strings.Contains(got, "저는") {
		t.Error(got)
	}
	n.down.Store(false)
	x.must(house, "import", dump, "--redact-service", server.URL)
	if got := x.must(house, "show", "imported"); !strings.Contains(got, `"who":"[person]"`) || !strings.Contains(got, "저는 [person]입니다") {
		t.Error(got)
	}

	// compact --redact checks stored calls.
	x.must(plain, "compact", "--redact", "all", "--redact-service", server.URL)
	if left := append(n.left(plain), mustLeft(x, plain)...); len(left) > 0 {
		t.Errorf("after compact: %v", left[:min(len(left), 10)])
	}
	if code, out := x.extract(house, "run", "--redact-service", "localhost:3000"); code != cli.ExitUsage || !strings.Contains(out, "http://localhost:3000") {
		t.Errorf("an address without http: exit code %d\n%s", code, out)
	}
}

func mustLeft(x *revealing, house string) []string {
	left, _ := x.left(house)
	return left
}
