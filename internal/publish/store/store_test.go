package store

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/loopback"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { loopback.Main(m) }

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
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	bucket, _, err := Open("s3://lake")
	test.OK(t, err)
	group := pool.New().WithErrors()
	for i := range 4 {
		group.Go(func() error { return bucket.Put(t.Context(), fmt.Sprintf("s3://lake/%d", i), zeros{}, partSize+1) })
	}
	test.OK(t, group.Wait())
	if want := sending / concurrentParts; most == 0 || most > want {
		t.Errorf("%d objects were unfinished at once, not %d", most, want)
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

// Files and folders are private, whatever the umask allows, also if a file cannot be linked, as on
// another file system.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(s Store, uri, scratch string, mode fs.FileMode) error
	}{
		{"put", func(s Store, uri, _ string, _ fs.FileMode) error {
			return s.Put(t.Context(), uri, strings.NewReader("x"), 1)
		}},
		{"create", func(s Store, uri, _ string, _ fs.FileMode) error { return s.Create(t.Context(), uri, []byte("x")) }},
		{"link", func(s Store, uri, scratch string, mode fs.FileMode) error {
			return adopt(t, s, uri, scratch, mode, false)
		}},
		{"copy", func(s Store, uri, scratch string, mode fs.FileMode) error {
			return adopt(t, s, uri, scratch, mode, true)
		}},
	} {
		for umask, modes := range map[int][3]fs.FileMode{0o077: {0o700, 0o700, 0o600}, 0o022: {0o700, 0o750, 0o640}} {
			root := t.TempDir()
			defer syscall.Umask(syscall.Umask(umask))
			s, uri, err := Open(filepath.Join(root, "a"))
			if err == nil {
				err = c.put(s, uri+"/b/c", root, modes[2])
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			for n, path := range []string{"a", "a/b", "a/b/c"} {
				if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != modes[n] {
					t.Errorf("%s: %s has mode %v, want %v (%v)", c.name, path, info.Mode().Perm(), modes[n], err)
				}
			}
		}
	}
}

// adopt adopts a file of a mode. Without a name, it can only be copied.
func adopt(t *testing.T, s Store, uri, dir string, mode fs.FileMode, nameless bool) error {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "part"))
	test.OK(t, err)
	defer f.Close()
	if _, err = f.WriteString("x"); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && nameless {
		err = os.Remove(f.Name())
	}
	test.OK(t, err)
	return s.Adopt(t.Context(), uri, f, 1)
}
