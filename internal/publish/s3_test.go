package publish

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// bucket is an S3 server on the loopback, with faults.
type bucket struct {
	http.Handler
	mu     sync.Mutex
	faults float64 // share of failing requests
	asked  int     // requests
	seen   map[string]int
	wrote  map[string]int // complete uploads, by address
	rnd    *rand.Rand
}

func newBucket(t *testing.T) *bucket {
	backend := s3mem.New()
	test.OK(t, backend.CreateBucket("lake"))
	b := &bucket{Handler: gofakes3.New(backend).Server(), seen: map[string]int{}, wrote: map[string]int{}, rnd: longtest.Rand(t)}
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	return b
}

// fail sets the share of failing requests.
func (b *bucket) fail(share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = share
}

// ServeHTTP answers a request, or injects a fault.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.asked++
	fault := ""
	if b.rnd.Float64() < b.faults {
		fault = []string{"503", "cut", "lost"}[b.rnd.IntN(3)]
	}
	if fault != "" {
		b.seen[fault]++
	}
	if r.Method == http.MethodPut && fault != "503" && fault != "cut" {
		b.wrote[r.URL.Path]++
	}
	b.mu.Unlock()
	switch fault {
	case "503":
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
	case "cut": // before it is processed
		panic(http.ErrAbortHandler)
	case "lost": // after it is processed
		b.Handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		b.Handler.ServeHTTP(w, r)
	}
}

// TestS3 publishes to a bucket in which one of twenty requests fails (slow down, cut off, or an
// answer lost after the operation).
func TestS3(t *testing.T) {
	b := newBucket(t)
	h := newTestWarehouse(t)
	l := newLake(h, "s3://lake/calls")
	for night := range map[bool]int{false: 2, true: 40}[longtest.On()] {
		h.night(call{"a", fmt.Sprint(night), 3, 1, 1}, call{fmt.Sprint(night), "y", 5 + night, 1, 0})
		b.fail(0.05)
		made, err := h.publish("s3://lake/calls")
		h.must(err)
		b.fail(0)
		again, err := h.publish("s3://lake/calls")
		h.must(err)
		l.check()
		if made.Uploaded == 0 || again.Uploaded != 0 {
			t.Fatalf("published again: %+v", again)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Log(b.seen)
	if len(b.seen) == 0 {
		t.Fatal("nothing failed")
	}
}

// TestNothingIsCopiedTwice publishes without faults, and counts uploads and requests.
func TestNothingIsCopiedTwice(t *testing.T) {
	b := newBucket(t)
	h := newTestWarehouse(t)
	var requests []int
	for night := range 8 { // the requests stay the same from the sixth on
		h.night(call{fmt.Sprint(night), "y", night, 1, 1})
		before := b.asked
		_, err := h.publish("s3://lake/calls")
		h.must(err)
		requests = append(requests, b.asked-before)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for path, n := range b.wrote {
		if strings.HasSuffix(path, ".parquet") && n > 1 {
			t.Errorf("%s was copied %d times", path, n)
		}
	}
	// A hint as old as the metadata, in whole seconds, is written again.
	if last := requests[len(requests)-4:]; slices.Max(last) > slices.Min(last)+6 {
		t.Errorf("nights took %v requests: they should not grow", requests)
	}
}

// TestStoreInProgress publishes to a store that first answers 409 to each conditional request, as S3 does
// while another request for the same name is in progress.
func TestStoreInProgress(t *testing.T) {
	b := newBucket(t)
	h := newTestWarehouse(t)
	h.night(call{"a", "x", 1, 1, 1})
	inner, first := b.Handler, sync.Map{}
	b.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := first.LoadOrStore(r.URL.Path, true); r.Header.Get("If-None-Match") == "" || again {
			inner.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, "<Error><Code>ConditionalRequestConflict</Code></Error>")
	})
	_, err := h.publish("s3://lake/calls")
	h.must(err)
	newLake(h, "s3://lake/calls").check()
}

// TestStoreWithoutConditions refuses a store in which two programs could commit the same version,
// even after publishing to it many times.
func TestStoreWithoutConditions(t *testing.T) {
	b := newBucket(t)
	h := newTestWarehouse(t)
	for range 2 {
		h.night(call{"a", "x", 1, 1, 1})
		_, err := h.publish("s3://lake/calls")
		h.must(err)
	}
	inner := b.Handler
	for _, change := range []func(http.ResponseWriter, *http.Request) bool{
		func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("If-None-Match"); return false },
		func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("If-None-Match") == "" {
				return false
			}
			w.WriteHeader(http.StatusNotImplemented)
			fmt.Fprint(w, "<Error><Code>NotImplemented</Code></Error>")
			return true
		},
	} {
		b.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !change(w, r) {
				inner.ServeHTTP(w, r)
			}
		})
		if _, err := h.publish("s3://lake/calls"); err == nil || !strings.Contains(err.Error(), "If-None-Match") {
			t.Fatal(err)
		}
	}
}

// TestRefusals tries to publish unsuitable warehouses.
func TestRefusals(t *testing.T) {
	one, other := newTestWarehouse(t), newTestWarehouse(t)
	to := t.TempDir()
	one.night(call{"a", "x", 1, 1, 1})
	other.night(call{"b", "y", 2, 1, 1})
	_, err := one.publish(to)
	one.must(err)
	if _, err := other.publish(to); !strings.Contains(fmt.Sprint(err), "another warehouse") {
		t.Errorf("another warehouse: %v", err)
	}
	to = t.TempDir()
	_, err = other.publish(to)
	other.must(err)

	other.night(call{"b", "z", 2, 1, 1})
	now, _ := other.snapshots()
	damage(t, now.Path(now.Manifest.FileOf("calls", "2026-09-30")))
	before := newLake(other, to).states()
	if _, err := other.publish(to); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file: %v", err)
	}
	if after := newLake(other, to).states(); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error("a damaged file changed the tables")
	}
}

// damage flips a bit in the middle of a file.
func damage(t *testing.T, path string) {
	raw, err := os.ReadFile(path)
	if err == nil {
		raw[len(raw)/3] ^= 1
		err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, raw, 0o600))
	}
	test.OK(t, err)
}

// verified reports whether a request has the signature specified in AWS's documentation.
func verified(r *http.Request, secret, service, region string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.Sum256(body)
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("the sum of the body is %q", got)
	}
	credential, rest, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), ", SignedHeaders=")
	names, signature, _ := strings.Cut(rest, ", Signature=")
	day, _, _ := strings.Cut(r.Header.Get("X-Amz-Date"), "T")
	scope := day + "/" + region + "/" + service + "/aws4_request"
	if credential != "test/"+scope {
		return fmt.Errorf("it is signed by %q, not in %q", credential, scope)
	}
	var path []string
	for _, part := range strings.Split(r.URL.EscapedPath(), "/") {
		path = append(path, strings.ReplaceAll(url.QueryEscape(part), "+", "%20"))
	}
	query := strings.Split(r.URL.RawQuery, "&")
	slices.Sort(query)
	canonical := r.Method + "\n" + strings.Join(path, "/") + "\n" + strings.Join(query, "&") + "\n"
	for _, name := range strings.Split(names, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + names + "\n" + hex.EncodeToString(sum[:])
	hashed := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + secret)
	for _, part := range []string{day, region, service, "aws4_request", "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(hashed[:])} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if signature != hex.EncodeToString(key) || !strings.Contains(names, "host") || !strings.Contains(names, "x-amz-date") {
		return fmt.Errorf("another signature of %q", canonical)
	}
	return nil
}

// TestSigned sends requests with the signatures that Glue requires.
func TestSigned(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	t.Setenv("AWS_SESSION_TOKEN", "session")
	s, err := newSigning("glue", "eu-west-3")
	test.OK(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := verified(r, "s3cret", "glue", "eu-west-3"); err != nil || r.Header.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
	}))
	defer server.Close()
	for _, path := range []string{"/v1/config?warehouse=w&a=b%20c", "/v1/namespaces/one%1Ftwo/tables/calls"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(`{"a":1}`))
			test.OK(t, err)
			answer, err := s.RoundTrip(r)
			test.OK(t, err)
			test.OK(t, answer.Body.Close())
		}
	}
}
