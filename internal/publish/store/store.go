// Package store stores objects: in a bucket of S3, or in a folder. An object exists as a whole or
// not at all. The package does not interpret objects.
package store

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Object is an object in a listing.
type Object struct {
	URI      string
	Size     int64
	Modified time.Time // by the store's clock
}

// Store stores objects by address, such as s3://bucket/a/b or file:///a/b. It is safe for
// concurrent use.
type Store interface {
	// Get returns an object. If there is none, the error wraps fs.ErrNotExist.
	Get(ctx context.Context, uri string) ([]byte, error)
	// Open returns the content of an object, which the caller must close. An error may come only
	// with the first read. After a seek, only the data read from there on is fetched.
	Open(ctx context.Context, uri string) (io.ReadSeekCloser, error)
	// Put stores an object, replacing an existing one.
	Put(ctx context.Context, uri string, body io.ReaderAt, size int64) error
	// Create stores a new object. If it exists, the error wraps fs.ErrExist. Of two concurrent
	// creations, one succeeds. If a response is lost, the retry may find the object of the first
	// attempt. The error wraps errors.ErrUnsupported if the store refuses such a request.
	Create(ctx context.Context, uri string, body []byte) error
	// Adopt stores a synced file, like Put. A folder on the same file system shares the file's
	// content, which must not change any more, or takes over the file in place of an object's.
	Adopt(ctx context.Context, uri string, f *os.File, size int64) error
	// Size returns the size of an object; -1 if there is none.
	Size(ctx context.Context, uri string) (int64, error)
	// List returns the objects below a folder's address, in the order of the addresses.
	List(ctx context.Context, uri string) ([]Object, error)
	// Remove removes objects. A missing object is not an error. If there are several errors, it
	// returns one of them.
	Remove(ctx context.Context, uris []string) error
	// RemoveUploads removes the remains of interrupted uploads below an address that were last written
	// before a time.
	RemoveUploads(ctx context.Context, uri string, before time.Time) error
	// Requests returns the number of requests so far.
	Requests() int64
}

// Open returns the store for an address, and the normalised address: scheme and bucket in lower
// case, without "." and repeated or trailing slashes. A folder may be given as a plain path. Files in
// it get the given mode; 0 means 0600.
func Open(to string) (s Store, uri string, err error) {
	u, err := url.Parse(to)
	switch {
	case err == nil && u.Scheme == "s3" && u.Host != "" && u.RawQuery == "" && u.Fragment == "":
		s, err = newS3()
		bucket, key := parts("s3" + to[len("s3"):])
		return s, strings.TrimRight("s3://"+strings.ToLower(bucket)+path.Clean("/"+key), "/"), err
	case err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && strings.HasPrefix(u.Path, "/"):
		to = u.Path
	case strings.Contains(to, "://") || to == "":
		return nil, "", fmt.Errorf("invalid destination %q: use s3://bucket/prefix or a folder", to)
	}
	path, err := filepath.Abs(to)
	return folder{path}, "file://" + path, err
}

// Folder returns the path of a folder's address; false for an address in S3.
func Folder(uri string) (path string, ok bool) { return local(uri), strings.HasPrefix(uri, "file://") }
