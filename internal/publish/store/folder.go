package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder stores objects as files below a folder. They hold conversations, so what is made here is for
// this user alone, whatever the umask is.
type folder struct{ root string }

const tempPrefix = ".tmp-"

func local(uri string) string { return filepath.FromSlash(strings.TrimPrefix(uri, "file://")) }

func (f folder) Get(ctx context.Context, uri string) ([]byte, error) {
	in, err := f.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return limited(uri, in)
}

func (folder) Open(_ context.Context, uri string) (io.ReadSeekCloser, error) {
	return os.Open(local(uri))
}

func (f folder) Put(_ context.Context, uri string, body io.ReaderAt, size int64) error {
	return f.write(uri, body, size, os.Rename)
}

func (f folder) Create(_ context.Context, uri string, body []byte) error {
	return f.write(uri, strings.NewReader(string(body)), int64(len(body)), link)
}

// link publishes a new file.
func link(temp, to string) error { return errors.Join(os.Link(temp, to), os.Remove(temp)) }

func (f folder) Adopt(_ context.Context, uri string, file *os.File, size int64) error {
	to := local(uri)
	if err := f.makeDir(filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Link(file.Name(), to); err == nil || errors.Is(err, fs.ErrExist) && os.Rename(file.Name(), to) == nil {
		return syncDir(filepath.Dir(to))
	}
	return f.write(uri, file, size, os.Rename) // on another file system
}

func (f folder) makeDir(dir string) error { return os.MkdirAll(dir, 0o700) }

// write writes a file next to its final place, and then publishes it there.
func (f folder) write(uri string, body io.ReaderAt, size int64, publish func(temp, to string) error) (err error) {
	to := local(uri)
	dir := filepath.Dir(to)
	if err := f.makeDir(dir); err != nil {
		return err
	}
	temp, err := os.OpenFile(filepath.Join(dir, tempPrefix+rand.Text()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	n, err := io.Copy(temp, io.NewSectionReader(body, 0, size))
	if err == nil && n != size {
		err = fmt.Errorf("%s: %w", to, io.ErrUnexpectedEOF)
	}
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := publish(temp.Name(), to); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (folder) List(_ context.Context, uri string) ([]Object, error) {
	return list(uri, func(name string) bool { return !strings.HasPrefix(name, tempPrefix) })
}

func list(uri string, wanted func(name string) bool) (out []Object, err error) {
	err = filepath.WalkDir(local(uri), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !wanted(e.Name()) {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed since the folder was read
			return nil
		}
		if err == nil {
			out = append(out, Object{"file://" + filepath.ToSlash(path), info.Size(), info.ModTime()})
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return out, err
}

func (folder) Remove(_ context.Context, uris []string) (err error) {
	for _, uri := range uris {
		if e := os.Remove(local(uri)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = cmp.Or(err, e)
		}
	}
	return err
}

func (f folder) RemoveUploads(ctx context.Context, uri string) error {
	temps, err := list(uri, func(name string) bool { return strings.HasPrefix(name, tempPrefix) })
	var gone []string
	for _, o := range temps {
		gone = append(gone, o.URI)
	}
	return cmp.Or(err, f.Remove(ctx, gone))
}
