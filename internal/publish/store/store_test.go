package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/loopback"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { loopback.Main(m) }

// TestTooLarge reads an object that is too large for metadata.
func TestTooLarge(t *testing.T) {
	s, uri, err := Open(t.TempDir())
	test.OK(t, err)
	f, err := os.Create(local(uri + "/x"))
	test.OK(t, err)
	test.OK(t, f.Truncate(maxSize+1))
	test.OK(t, f.Close())
	if _, err := s.Get(t.Context(), uri+"/x"); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("read: %v", err)
	}
}

// TestFewUnfinished stores several large objects: at most two may be unfinished at once, since a
// killed program must upload these again.
func TestFewUnfinished(t *testing.T) {
	var mu sync.Mutex
	unfinished, most := 0, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		switch q := r.URL.Query(); {
		case q.Has("uploads"):
			unfinished++
			most = max(most, unfinished)
			fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodPost:
			unfinished--
			fmt.Fprint(w, `<CompleteMultipartUploadResult><Bucket>lake</Bucket><Key>0</Key><ETag>"1"</ETag></CompleteMultipartUploadResult>`)
		default:
			w.Header().Set("ETag", `"1"`)
		}
	}))
	defer s.Close()
	bucket := open(t, s)
	group := pool.New().WithErrors()
	for i := range 4 {
		group.Go(func() error { return bucket.Put(t.Context(), fmt.Sprintf("s3://lake/%d", i), zeros{}, partSize+1) })
	}
	test.OK(t, group.Wait())
	if want := sending / concurrentParts; most == 0 || most > want {
		t.Errorf("%d objects were unfinished at once, not %d", most, want)
	}
}

// open returns the store of a server.
func open(t *testing.T, s *httptest.Server) Store {
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	bucket, _, err := Open("s3://lake")
	test.OK(t, err)
	return bucket
}

// TestLock takes a lock in S3: while its holder renews it, others are refused; a holder that can no
// longer renew it notices before another replaces it; a released one is free at once.
func TestLock(t *testing.T) {
	const uri, valid = "s3://lake/lock", 600 * time.Millisecond
	backend := s3mem.New()
	test.OK(t, backend.CreateBucket("lake"))
	var cut atomic.Bool
	inner := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cut.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	s := open(t, server)
	held, release, err := s.Lock(t.Context(), uri, valid)
	test.OK(t, err)
	for range 2 {
		if _, _, err := s.Lock(t.Context(), uri, valid); !errors.As(err, new(*LockedError)) {
			t.Errorf("while it is held: %v", err)
		}
	}
	if held.Err() != nil {
		t.Errorf("it was lost: %v", context.Cause(held))
	}
	release()
	held, release, err = s.Lock(t.Context(), uri, valid)
	test.OK(t, err)
	defer release()
	cut.Store(true)
	<-held.Done()
	cut.Store(false)
	if !errors.As(context.Cause(held), new(*LockedError)) {
		t.Errorf("it ended: %v", context.Cause(held))
	}
	_, other, err := s.Lock(t.Context(), uri, valid)
	test.OK(t, err)
	release()
	if raw, err := s.Get(t.Context(), uri); err != nil || len(raw) == 0 {
		t.Errorf("the first holder removed the lock of the second: %v", err)
	}
	other()
	if _, err := s.Get(t.Context(), uri); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after it was released: %v", err)
	}
}

// zeros reads as zeros only.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// TestAddresses spells the same address in several ways.
func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for to, want := range map[string]string{
		"s3://lake/ch": "s3://lake/ch", "s3://lake/ch/": "s3://lake/ch", "S3://Lake/./x/..//ch": "s3://lake/ch", "s3://lake": "s3://lake", "s3://lake//": "s3://lake",
		"s3://lake/Ch": "s3://lake/Ch", dir: "file://" + dir, "file://" + dir + "/": "file://" + dir, "file://localhost" + dir: "file://" + dir, "./": "file://" + dir,
	} {
		if _, got, err := Open(to); err != nil || got != want {
			t.Errorf("%s is %s, not %s: %v", to, got, want, err)
		}
	}
	for _, to := range []string{"", "gs://x/y", "s3://", "s3:///x", "file://host/x", "s3://lake/x?y"} {
		if _, _, err := Open(to); err == nil {
			t.Errorf("%q is accepted", to)
		}
	}
}

// Files and folders are private with the umask 000, also if a file cannot be linked, as on another file system.
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for _, c := range []struct {
		name string
		put  func(s Store, uri, scratch string) error
	}{
		{"put", func(s Store, uri, _ string) error {
			return s.Put(t.Context(), uri, strings.NewReader("x"), 1)
		}},
		{"lock", func(s Store, uri, _ string) error {
			_, release, err := s.Lock(t.Context(), uri, time.Minute)
			if err == nil {
				release()
			}
			return err
		}},
		{"create", func(s Store, uri, _ string) error { return s.Create(t.Context(), uri, []byte("x")) }},
		{"link", func(s Store, uri, scratch string) error {
			return adopt(t, s, uri, scratch, false)
		}},
		{"copy", func(s Store, uri, scratch string) error {
			return adopt(t, s, uri, scratch, true)
		}},
	} {
		root := t.TempDir()
		s, uri, err := Open(filepath.Join(root, "a"))
		if err == nil {
			err = c.put(s, uri+"/b/c", root)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for path, want := range map[string]fs.FileMode{"a": 0o700, "a/b": 0o700, "a/b/c": 0o600} {
			if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %s has mode %v, want %v (%v)", c.name, path, info.Mode().Perm(), want, err)
			}
		}
	}
}

// adopt adopts a file. Without a name, it can only be copied.
func adopt(t *testing.T, s Store, uri, dir string, nameless bool) error {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "part"), os.O_CREATE|os.O_RDWR, 0o600)
	test.OK(t, err)
	defer f.Close()
	if _, err = f.WriteString("x"); err == nil && nameless {
		err = os.Remove(f.Name())
	}
	test.OK(t, err)
	return s.Adopt(t.Context(), uri, f, 1)
}
