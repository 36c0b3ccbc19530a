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
	// Get returns a small object. If there is none, the error wraps fs.ErrNotExist.
	Get(ctx context.Context, uri string) ([]byte, error)
	// Open returns the content of an object, which the caller must close. An error may come only
	// with the first read. After a seek, only the data read from there on is fetched.
	Open(ctx context.Context, uri string) (io.ReadSeekCloser, error)
	// Put stores an object, replacing an existing one.
	Put(ctx context.Context, uri string, body io.ReaderAt, size int64) error
	// Create stores a new object. If there is one with other content, the error wraps fs.ErrExist. Of two
	// concurrent creations, one succeeds. The error wraps errors.ErrUnsupported if the store refuses such
	// a request.
	Create(ctx context.Context, uri string, body []byte) error
	// Adopt stores a synced file, like Put. A folder on the same file system shares the file's
	// content, which must not change any more, or takes over the file in place of an object's.
	Adopt(ctx context.Context, uri string, f *os.File, size int64) error
	// Lock takes a lock that one program can hold. If another holds it, the error is a *LockedError. After
	// a program was killed, its lock lasts for at most a time. The returned context ends, with the error
	// as its cause, if the lock is lost. The error wraps errors.ErrUnsupported if the store cannot lock.
	Lock(ctx context.Context, uri string, valid time.Duration) (held context.Context, release func(), err error)
	// List returns the objects below a folder's address, in the order of the addresses.
	List(ctx context.Context, uri string) ([]Object, error)
	// Remove removes objects. A missing object is not an error. If there are several errors, it
	// returns one of them.
	Remove(ctx context.Context, uris []string) error
	// RemoveUploads removes the remains of interrupted uploads below an address, where none may be running.
	RemoveUploads(ctx context.Context, uri string) error
}

// Open returns the store for an address, and the normalised address: scheme and bucket in lower
// case, without "." and repeated or trailing slashes. A folder may be given as a plain path.
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

// maxSize limits what Get reads into memory.
const maxSize = 64 << 20

// limited reads an object into memory.
func limited(uri string, in io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err == nil && len(raw) > maxSize {
		err = fmt.Errorf("%s is larger than %d MiB", uri, maxSize>>20)
	}
	return raw, err
}
