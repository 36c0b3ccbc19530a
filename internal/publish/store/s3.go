package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/semaphore"
)

const (
	// partSize is the size of the parts in which larger objects are uploaded.
	partSize = 32 << 20
	// sending is the number of concurrent uploads, each of an object or a part.
	sending = 8
	// concurrentParts is the maximum number of those that are parts of the same object. So at most two
	// large objects are incomplete when a program is killed, and only these are sent again.
	concurrentParts = 4
)

// s3 stores objects in buckets. It takes its credentials and region from the environment, from the
// shared files of AWS, or from the machine, as every S3 client does.
type s3 struct {
	client  *minio.Client
	uploads *semaphore.Weighted
}

func newS3() (*s3, error) {
	endpoint, secure := "s3.amazonaws.com", true
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		if v := os.Getenv(name); v != "" {
			u, err := url.Parse(v)
			if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" {
				return nil, fmt.Errorf("%s is %q, but must be an address such as https://host:port", name, v)
			}
			endpoint, secure = u.Host, u.Scheme == "https"
		}
	}
	region := os.Getenv("AWS_REGION")
	if region == "" {
		region = os.Getenv("AWS_DEFAULT_REGION")
	}
	client, err := minio.New(endpoint, &minio.Options{Secure: secure, Region: region, Creds: Credentials()})
	return &s3{client, semaphore.NewWeighted(sending)}, err
}

// Credentials returns the credentials that sign requests to AWS.
func Credentials() *credentials.Credentials {
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
}

// parts splits an address.
func parts(uri string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	return bucket, key
}

// objectError adds the object's address to an error of S3, and converts it to an error of fs if possible.
func objectError(uri string, err error) error {
	if err == nil {
		return nil
	}
	var kind error
	switch r := minio.ToErrorResponse(err); {
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("%s: no such bucket in this region (AWS_REGION)", uri)
	case r.StatusCode == http.StatusNotFound:
		kind = fs.ErrNotExist
	case r.StatusCode == http.StatusPreconditionFailed, r.Code == "ConditionalRequestConflict":
		kind = fs.ErrExist
	case r.StatusCode == http.StatusNotImplemented:
		kind = errors.ErrUnsupported
	case r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized:
		kind = fs.ErrPermission
	}
	if kind != nil {
		return fmt.Errorf("%s: %w (%w)", uri, kind, err)
	}
	return fmt.Errorf("%s: %w", uri, err)
}

func (s *s3) Open(ctx context.Context, uri string) (io.ReadSeekCloser, error) {
	bucket, key := parts(uri)
	o, err := s.client.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, objectError(uri, err)
	}
	return object{o, uri}, nil
}

// object is the content of an object.
type object struct {
	io.ReadSeekCloser
	uri string
}

// Read implements io.Reader.
func (o object) Read(p []byte) (int, error) {
	n, err := o.ReadSeekCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = objectError(o.uri, err)
	}
	return n, err
}

// Seek implements io.Seeker.
func (o object) Seek(offset int64, whence int) (int64, error) {
	n, err := o.ReadSeekCloser.Seek(offset, whence)
	return n, objectError(o.uri, err)
}

func (s *s3) Get(ctx context.Context, uri string) ([]byte, error) {
	raw, _, err := s.read(ctx, uri)
	return raw, err
}

// read returns a small object and the tag of its content.
func (s *s3) read(ctx context.Context, uri string) (raw []byte, tag string, err error) {
	bucket, key := parts(uri)
	o, err := s.client.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, "", objectError(uri, err)
	}
	defer o.Close()
	raw, err = limited(uri, object{o, uri})
	if err != nil {
		return nil, "", err
	}
	info, err := o.Stat() // which the answer brought
	return raw, info.ETag, objectError(uri, err)
}

func (s *s3) Put(ctx context.Context, uri string, body io.ReaderAt, size int64) error {
	return s.put(ctx, uri, body, size, minio.PutObjectOptions{PartSize: partSize, NumThreads: concurrentParts,
		DisableMultipart: size <= partSize})
}

func (s *s3) Create(ctx context.Context, uri string, body []byte) error {
	for n := 1; ; n++ {
		err := s.write(ctx, uri, "", body)
		if err == nil || ctx.Err() != nil {
			return err
		}
		there, _, e := s.read(ctx, uri)
		switch {
		case e == nil && bytes.Equal(there, body): // the first attempt succeeded, and its answer was lost
			return nil
		case n == 3 || !errors.Is(err, fs.ErrExist) || !errors.Is(e, fs.ErrNotExist):
			return err
		} // S3 also refuses a creation while a request before it is still in progress
	}
}

// write stores an object in place of the one with a tag, or, without a tag, of none.
func (s *s3) write(ctx context.Context, uri, tag string, body []byte) error {
	o := minio.PutObjectOptions{DisableMultipart: true}
	if tag == "" {
		o.SetMatchETagExcept("*")
	} else {
		o.SetMatchETag(tag)
	}
	return s.put(ctx, uri, bytes.NewReader(body), int64(len(body)), o)
}

func (s *s3) Adopt(ctx context.Context, uri string, f *os.File, size int64) error {
	return s.Put(ctx, uri, f, size)
}

func (s *s3) put(ctx context.Context, uri string, body io.ReaderAt, size int64, o minio.PutObjectOptions) error {
	n := int64(1)
	if !o.DisableMultipart {
		n = concurrentParts
	}
	if err := s.uploads.Acquire(ctx, n); err != nil {
		return err
	}
	defer s.uploads.Release(n)
	bucket, key := parts(uri)
	o.ContentType = "application/octet-stream"
	_, err := s.client.PutObject(ctx, bucket, key, io.NewSectionReader(body, 0, size), size, o)
	return objectError(uri, err)
}

func (s *s3) List(ctx context.Context, uri string) (out []Object, err error) {
	bucket, prefix := parts(uri)
	for o := range s.client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix + "/", Recursive: true}) {
		if o.Err != nil {
			return nil, objectError(uri, o.Err)
		}
		out = append(out, Object{"s3://" + bucket + "/" + o.Key, o.Size, o.LastModified})
	}
	return out, nil
}

func (s *s3) Remove(ctx context.Context, uris []string) (err error) {
	if len(uris) == 0 {
		return nil
	}
	bucket, _ := parts(uris[0])
	objects := make(chan minio.ObjectInfo, len(uris))
	for _, uri := range uris {
		_, key := parts(uri)
		objects <- minio.ObjectInfo{Key: key}
	}
	close(objects)
	for e := range s.client.RemoveObjects(ctx, bucket, objects, minio.RemoveObjectsOptions{}) {
		err = cmp.Or(err, objectError("s3://"+bucket+"/"+e.ObjectName, e.Err))
	}
	return err
}

func (s *s3) RemoveUploads(ctx context.Context, uri string) (err error) {
	bucket, prefix := parts(uri)
	for u := range s.client.ListIncompleteUploads(ctx, bucket, prefix+"/", true) {
		if e := objectError(uri, u.Err); errors.Is(e, fs.ErrNotExist) {
			break // which is how some stores report that there are none
		} else if e != nil {
			return e
		}
		err = cmp.Or(err, objectError(uri, s.client.RemoveIncompleteUpload(ctx, bucket, u.Key)))
	}
	return err
}
