package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"reflect"
	"sync"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
)

// seenFiles remembers what was read, so that what snapshots share is read once.
type seenFiles struct {
	mu    sync.Mutex
	info  map[string]fs.FileInfo  // by path inside of a snapshot
	said  map[string]*layout.File // what a manifest says of it
	ids   map[string][]uint64     // hashes of the call ids, by path of a file of calls
	files int
	bytes int64
}

func newSeenFiles() *seenFiles {
	return &seenFiles{info: map[string]fs.FileInfo{}, said: map[string]*layout.File{}, ids: map[string][]uint64{}}
}

// known says whether the very file was read before, for a manifest that says
// the same of it. The one file of runs has the same path in every snapshot.
func (s *seenFiles) known(f *layout.File, info fs.FileInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.info[f.Path]
	return ok && os.SameFile(was, info) && reflect.DeepEqual(s.said[f.Path], f)
}

func (s *seenFiles) remember(f *layout.File, info fs.FileInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info[f.Path], s.said[f.Path] = info, f
	s.files++
	s.bytes += info.Size()
}

func (s *seenFiles) keepIDs(path string, ids []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[path] = ids
}

// file verifies one file as a whole: that it is there, its size, its checksum.
// fresh says that it was not read before, sound that it can be read on.
func (v *verifier) file(ctx context.Context, s *layout.Snapshot, f *layout.File) (fresh, sound bool, err error) {
	at := v.rel(s.Path(f))
	file, err := v.opts.FS.Open(s.Path(f))
	if disk.IsGone(err) {
		if _, err := snapshot.Open(v.opts.FS, v.opts.Root, layout.SnapshotName(s.Manifest.Snapshot)); disk.IsGone(err) {
			return false, false, nil // the whole snapshot was removed just now
		}
		v.bad.Add("missing", at, "the file is not there")
		return false, false, nil
	}
	if err != nil {
		v.bad.Add("unreadable", at, "%v", err)
		return false, false, nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		v.bad.Add("unreadable", at, "%v", err)
		return false, false, nil
	}
	if v.seen.known(f, info) {
		return false, true, nil
	}
	v.seen.remember(f, info)
	if info.Size() != f.Bytes {
		v.bad.Add("size", at, "it has %d bytes, the manifest says %d", info.Size(), f.Bytes)
		return true, false, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &untilDone{ctx, io.NewSectionReader(file, 0, info.Size())}); err != nil {
		if ctx.Err() != nil {
			return false, false, ctx.Err()
		}
		v.bad.Add("unreadable", at, "%v", err)
		return true, false, nil
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		v.bad.Add("checksum", at, "its content is not what was written: the checksum differs")
		return true, false, nil
	}
	return true, true, nil
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r *untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
