package extractcmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// revealing is a service whose callers reveal personal data.
type revealing struct {
	t       *testing.T
	now     time.Time
	on      *sandbox.Running
	planted []string // all texts that must not be stored, in each spelling
	records []byte   // of all calls, one per line
	stdin   io.Reader
}

// minPlanted is the minimum length of a spelling to search for.
const minPlanted = 14

func newRevealing(t *testing.T, calls int64) *revealing {
	t.Helper()
	x := &revealing{t: t, now: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)}
	cfg := world.Config{Seed: 39, Calls: calls, Days: 2, Origin: x.now, Personal: true}
	server, err := sandbox.New(sandbox.Options{World: cfg, Now: func() time.Time { return x.now }, PerSecond: -1, PerMinute: -1})
	test.OK(t, err)
	x.on, err = sandbox.Listen(t.Context(), "127.0.0.1:0", server)
	test.OK(t, err)
	t.Cleanup(func() { _ = x.on.Close() })
	w, err := world.New(cfg)
	test.OK(t, err)
	var rd render.Renderer
	for v := range w.Visible(x.now) {
		x.planted = append(x.planted, v.Revealed(minPlanted)...)
		x.records = append(rd.Detail(x.records, v), '\n')
	}
	if len(x.planted) < int(calls) {
		t.Fatalf("only %d values are planted", len(x.planted))
	}
	t.Setenv("CALLHOUSE_API_KEY", "sandbox-key")
	return x
}

func (x *revealing) extract(warehouse string, args ...string) (code int, out string) {
	x.t.Helper()
	var text bytes.Buffer
	stdin := cmp.Or[io.Reader](x.stdin, strings.NewReader(""))
	code = Program{Now: func() time.Time { return x.now }, Env: cmdtest.Env()}.Run(x.t.Context(), append(args, "--base-url", x.on.URL,
		"--warehouse", warehouse, "--requests-per-second", "1000", "--requests-per-minute", "60000"), stdin, &text, &text)
	return code, text.String()
}

func (x *revealing) must(warehouse string, args ...string) string {
	x.t.Helper()
	code, out := x.extract(warehouse, args...)
	if code != cli.ExitOK {
		x.t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	return out
}

// left returns the planted values that occur in the files of a folder, and the size of these files.
func (x *revealing) left(warehouse string) (left []string, size int) {
	x.t.Helper()
	test.EveryByte(x.t, warehouse, func(at string, raw []byte) {
		size += len(raw)
		text := string(raw)
		for _, p := range x.planted {
			if strings.Contains(text, p) {
				left = append(left, fmt.Sprintf("%s: %q", at, p))
			}
		}
	})
	return left, size
}

// watch searches folders and unnamed files until stop is called, which returns what was found.
func (x *revealing) watch(dirs ...string) (stop func() (seen int, left []string)) {
	quit, done := make(chan struct{}), make(chan struct{})
	seen, left := 0, []string(nil)
	look := func(copied string) {
		for i, dir := range dirs {
			_ = os.CopyFS(filepath.Join(copied, strconv.Itoa(i)), os.DirFS(dir)) // files come and go
		}
		open, _ := os.ReadDir("/proc/self/fd")
		for _, f := range open {
			fd := filepath.Join("/proc/self/fd", f.Name())
			if to, err := os.Readlink(fd); err != nil || !strings.HasSuffix(to, " (deleted)") {
				continue
			}
			if raw, err := os.ReadFile(fd); err == nil && len(raw) > 0 {
				_ = os.WriteFile(filepath.Join(copied, "fd"+f.Name()), raw, 0o600)
			}
		}
		l, n := x.left(copied)
		seen, left = seen+n, append(left, l...)
	}
	go func() {
		defer close(done)
		for {
			copied := x.t.TempDir()
			look(copied)
			_ = os.RemoveAll(copied)
			select {
			case <-quit:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() (int, []string) {
		close(quit)
		<-done
		return seen, left
	}
}

// With redact = all, a run writes nothing that callers revealed: not in the warehouse, not in the
// journal and temporary files during the run, and not in its output.
func TestRedactedRun(t *testing.T) {
	x := newRevealing(t, 40)
	warehouse, temporary := filepath.Join(t.TempDir(), "w"), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	stop := x.watch(filepath.Join(warehouse, layout.JournalName), temporary)
	out := x.must(warehouse, "run", "--redact", "all")
	seen, left := stop()
	if seen == 0 {
		t.Error("the journal was never seen")
	}
	if len(left) > 0 {
		t.Errorf("in the journal or temporary files: %s", strings.Join(left[:min(len(left), 10)], "\n"))
	}
	if left, _ := x.left(warehouse); len(left) > 0 {
		t.Errorf("%d in the warehouse: %s", len(left), strings.Join(left[:min(len(left), 10)], "\n"))
	}
	for _, p := range x.planted {
		if strings.Contains(out, p) {
			t.Errorf("the report has %q", p)
		}
	}
	if !strings.Contains(out, " card") || !strings.Contains(out, "redacted") {
		t.Errorf("the report does not count:\n%s", out)
	}
	if _, out := x.extract(warehouse, "status"); !strings.Contains(out, "redacted") || !strings.Contains(out, " card") {
		t.Errorf("status does not count:\n%s", out)
	}
	// An import from a pipe is redacted before it reaches the journal, too.
	imported := filepath.Join(t.TempDir(), "imported")
	stop = x.watch(filepath.Join(imported, layout.JournalName), temporary)
	x.stdin = bytes.NewReader(x.records)
	x.must(imported, "import", "--details", "--redact", "all", "-")
	x.stdin = nil
	if _, left := stop(); len(left) > 0 {
		t.Errorf("during an import: %s", strings.Join(left[:min(len(left), 10)], "\n"))
	}
	// Without the flag, fields redacted in the warehouse stay redacted.
	dump := filepath.Join(t.TempDir(), "dump.jsonl")
	body := `{"call_id":"imported","start_timestamp":1795079700000,"metadata":{"card":"4111-1111-1111-1111"},"transcript":[{"role":"user","content":"제 번호는 공일공 일이삼사 오육칠팔"}]}`
	test.OK(t, os.WriteFile(dump, []byte(body+"\n"), 0o600))
	x.planted = append(x.planted, "4111-1111-1111-1111", "공일공 일이삼사")
	x.must(warehouse, "import", dump)
	if left, _ := x.left(warehouse); len(left) > 0 {
		t.Errorf("after import: %v", left)
	}
	if got := x.must(warehouse, "show", "imported"); !strings.Contains(got, `"card":"[card]"`) || !strings.Contains(got, "제 번호는 [phone]") {
		t.Error(got)
	}
	if code, out := x.extract(warehouse, "run", "--redact", "crad"); code != cli.ExitUsage || !strings.Contains(out, "did you mean: card?") {
		t.Errorf("an unknown kind: exit code %d\n%s", code, out)
	}
}

// Data stored unredacted under an earlier setting is redacted by compact --redact, which leaves no older snapshot. Later runs redact too.
func TestCompactRedacts(t *testing.T) {
	longtest.Only(t)
	t.Setenv("CALLHOUSE_RESOURCES", "none")
	x := newRevealing(t, 40)
	warehouse := filepath.Join(t.TempDir(), "w")
	x.must(warehouse, "run")
	left, _ := x.left(warehouse)
	if len(left) < 40 {
		t.Fatalf("only %d in clear", len(left))
	}
	out := x.must(warehouse, "compact", "--redact", "all")
	if !strings.Contains(out, "redacted in") {
		t.Error(out)
	}
	if left, _ := x.left(warehouse); len(left) > 0 {
		t.Errorf("%d left: %s", len(left), strings.Join(left[:min(len(left), 10)], "\n"))
	}
	if out := x.must(warehouse, "verify"); !strings.Contains(out, "OK: ") {
		t.Error(out)
	}
	again := x.must(warehouse, "compact", "--redact", "all")
	if !strings.Contains(again, "nothing to redact") {
		t.Errorf("the same again: %s", again)
	}
	if out := x.must(warehouse, "compact", "--redact", "all", "--country", "KR"); !strings.Contains(out, "redacted in 40 calls") {
		t.Errorf("with other recognizers: %s", out)
	}
	x.must(warehouse, "compact", "--redact", "all")
	snapshots, err := layout.Current(warehouse)
	if err != nil || !slices.Contains(snapshots.Manifest.Redaction.Kinds, "card") {
		t.Fatalf("%v, %+v", err, snapshots.Manifest.Redaction)
	}
	dump := filepath.Join(t.TempDir(), "dump.jsonl")
	for i, said := range []string{"4111-1111-1111-1111", "사일일일 일일일일 일일일일 일일일일"} {
		id := fmt.Sprint("imported-", i)
		line, _ := json.Marshal(map[string]any{"call_id": id, "start_timestamp": 1795079700000, "metadata": map[string]string{"x": said}})
		test.OK(t, os.WriteFile(dump, append(line, '\n'), 0o600))
		x.must(warehouse, "import", dump)
		var call struct{ Metadata map[string]string }
		test.OK(t, json.Unmarshal([]byte(x.must(warehouse, "show", id)), &call))
		test.Same(t, "[card]", call.Metadata["x"], "%s is stored as", said)
	}
}

// namer is a service that recognizes the names of customers, or fails.
type namer struct {
	t         *testing.T
	names     []string
	down      atomic.Bool
	requested atomic.Int64
	secret    string
}

func (n *namer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.requested.Add(1)
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
func (n *namer) left(warehouse string) (left []string) {
	test.EveryByte(n.t, warehouse, func(at string, raw []byte) {
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
	x := newRevealing(t, 40)
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
	warehouse := filepath.Join(t.TempDir(), "w")
	n.down.Store(true)
	code, out := x.extract(warehouse, "run", "--redact", "all", "--redact-service", server.URL)
	if code != cli.ExitIncomplete || !strings.Contains(out, "unchecked") || !strings.Contains(out, "0 fetched (0 turns)") {
		t.Errorf("with a service that fails: exit code %d\n%s", code, out)
	}
	if requested := n.requested.Load(); requested == 0 || requested > 20 {
		t.Errorf("%d requests to a service that fails", requested)
	}
	if left := append(n.left(warehouse), mustLeft(x, warehouse)...); len(left) > 0 {
		t.Errorf("stored: %v", left)
	}
	if code, out := x.extract(warehouse, "run"); code != cli.ExitUsage || !strings.Contains(out, "redact_service") {
		t.Errorf("without the service: exit code %d\n%s", code, out)
	}
	n.down.Store(false)
	out = x.must(warehouse, "run", "--redact-service", server.URL)
	if !strings.Contains(out, " person") || strings.Contains(out, "unchecked") || !strings.Contains(out, " 0 pending") {
		t.Errorf("with the service: %s", out)
	}
	if left := append(n.left(warehouse), mustLeft(x, warehouse)...); len(left) > 0 {
		t.Errorf("stored: %v", left[:min(len(left), 10)])
	}
	s, err := layout.Current(warehouse)
	if err != nil || len(s.Manifest.Redaction.Service) != 2 || len(s.Manifest.Redaction.Kinds) == 0 {
		t.Errorf("%+v, %v", s.Manifest.Redaction, err)
	}

	// An import without the service's answers is incomplete, and is repeated once it answers.
	dump := filepath.Join(t.TempDir(), "dump.jsonl")
	body := `{"call_id":"imported","start_timestamp":1795079700000,"metadata":{"who":"` + n.names[0] + `"},"transcript":[{"role":"user","content":"저는 ` +
		n.names[0] + `입니다"}]}`
	test.OK(t, os.WriteFile(dump, []byte(body+"\n"), 0o600))
	n.down.Store(true)
	if code, out := x.extract(warehouse, "import", dump, "--redact-service", server.URL); code != cli.ExitIncomplete || !strings.Contains(out, "import the files again") {
		t.Errorf("import: exit code %d\n%s", code, out)
	}
	if got := x.must(warehouse, "show", "imported"); strings.Contains(got, "who") || strings.Contains(got, "저는") {
		t.Error(got)
	}
	n.down.Store(false)
	x.must(warehouse, "import", dump, "--redact-service", server.URL)
	if got := x.must(warehouse, "show", "imported"); !strings.Contains(got, `"who":"[person]"`) || !strings.Contains(got, "저는 [person]입니다") {
		t.Error(got)
	}

	// compact --redact checks stored calls.
	x.must(plain, "compact", "--redact", "all", "--redact-service", server.URL)
	if left := append(n.left(plain), mustLeft(x, plain)...); len(left) > 0 {
		t.Errorf("after compact: %v", left[:min(len(left), 10)])
	}
	for address, want := range map[string]string{"localhost:3000": "http://localhost:3000", "http://presidio.example:3000": "unencrypted beyond this machine", "http://10.0.0.5:3000": "use https", "http://localhost.example": "use https"} {
		if code, out := x.extract(warehouse, "run", "--redact-service", address); code != cli.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d\n%s", address, code, out)
		}
	}
}

func mustLeft(x *revealing, warehouse string) []string {
	left, _ := x.left(warehouse)
	return left
}
