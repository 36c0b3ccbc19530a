package publish

import (
	"context"
	"errors"
	"io/fs"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
)

// wanted is a copy that a table should have.
type wanted struct {
	of   *layout.Snapshot // the snapshot that has the file
	file *layout.File
	uri  string
	// known means that the table lists the copy. size is the size listed there; -1 if only a tag
	// refers to it.
	known bool
	size  int64
}

// wants returns the copies that the table should have: those of the published snapshot, and those
// of its tags that the warehouse still has.
func (w *work) wants() (out []*wanted) {
	seen := map[string]bool{}
	add := func(s *layout.Snapshot, tagged bool) {
		for _, f := range s.Manifest.FilesOf(w.of.Name) {
			c := &wanted{s, f, objectOf(w.location, f), tagged, -1}
			if seen[c.uri] {
				continue
			}
			seen[c.uri] = true
			if e, has := w.have[c.uri]; has {
				c.known, c.size = true, e.DataFile().FileSizeBytes()
			}
			out = append(out, c)
		}
	}
	add(w.snap, false)
	for _, s := range w.retained {
		if w.Metadata == nil || len(s.Manifest.FilesOf(w.of.Name)) == 0 {
			continue
		}
		if _, tagged := w.Refs[tagOf(s.Manifest.Snapshot)]; tagged {
			add(s, true)
		}
	}
	return out
}

// mismatch is the fault of a copy; empty if there is none. A copy that the table does not list may
// simply be missing at the destination.
type mismatch string

const (
	intact    mismatch = ""
	missing   mismatch = "it is missing"
	truncated mismatch = "it has another size"
)

// inspect compares a copy with the listing.
func (w *work) inspect(ctx context.Context, c *wanted) (mismatch, error) {
	size := int64(-1)
	if n, listed := w.sizes[c.uri]; listed {
		size = n
	}
	if c.size == size && size >= 0 {
		return intact, nil
	}
	found := intact
	err := w.opened(c.of, c.file, func(in *copied) (err error) {
		want := in.size()
		if size != want && c.known { // the listing may be outdated
			if size, err = w.store.Size(ctx, c.uri); err != nil {
				return err
			}
		}
		switch {
		case size < 0:
			found = missing
		case size != want:
			found = truncated
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) && c.of != w.snap {
		return intact, nil // the warehouse has just removed that snapshot
	}
	return found, err
}

// upload copies the files that are missing or damaged at the destination.
func (p *publication) upload(ctx context.Context, works []*work) error {
	group := pool.New().WithContext(ctx).WithMaxGoroutines(concurrency).WithCancelOnError().WithFirstError()
	for _, w := range works {
		for _, c := range w.wants() {
			group.Go(func(ctx context.Context) error {
				what, err := w.inspect(ctx, c)
				if err != nil || what == intact {
					return err
				}
				return w.send(ctx, c)
			})
		}
	}
	return group.Wait()
}

// send verifies a file and copies it.
func (w *work) send(ctx context.Context, c *wanted) error {
	return w.opened(c.of, c.file, func(in *copied) error {
		if err := layout.VerifyChecksum(in.local, in.local.Name(), c.file); err != nil {
			return err
		}
		if err := w.store.Put(ctx, c.uri, in, in.size()); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.report.Uploaded++
		w.report.Bytes += in.size()
		if c.size >= 0 && c.size != in.size() {
			w.anew[c.uri] = true
			delete(w.have, c.uri)
		}
		if c.known {
			w.report.Repaired = append(w.report.Repaired, c.uri)
		}
		return nil
	})
}

// opened calls do with a file of a snapshot in its published form.
func (p *publication) opened(of *layout.Snapshot, f *layout.File, do func(*copied) error) error {
	local, err := p.dir.Open(of.Path(f))
	if err != nil {
		return err
	}
	defer local.Close()
	c, err := copyOf(local, f)
	if err != nil {
		return err
	}
	return do(c)
}
