package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// maxBatch is the maximum number of bytes of records waiting for the disk. A Put that would exceed
// it waits, but a single larger record is accepted.
const maxBatch = 512 << 10

// maxLines is the size of the lines of a frame, unless a single line is longer. Records of a call may
// be read in any order, and each takes its whole frame.
const maxLines = 64 << 10

// recordOverhead is about what a line holds besides a record's body and id.
const recordOverhead = 128

// segmentPath returns the path of a segment of the journal.
func segmentPath(root string, s layout.Segment) string {
	return filepath.Join(root, layout.JournalName, s.Run, layout.SegmentName(s.Number))
}

// journal appends records to segments of one run. Many goroutines may put at once: records that
// arrive while a batch is being synced go into the next batch. So the speed of the disk determines
// the number of fsyncs, and no timer is needed.
type journal struct {
	fsys disk.FS
	root string
	run  string

	mu      sync.Mutex
	taken   *sync.Cond // signalled when the waiting batch was taken
	batch   *batch     // collects records; nil when there are none
	writing bool       // a goroutine is writing a batch
	sealing bool       // no new batch until the segment is closed
	failed  error      // final: after a failed fsync the journal is not written again
	made    bool       // the run's folder exists
	file    disk.File  // the open segment, nil when none
	next    int64      // number of the next segment to open
	records int64      // in the open segment, and their bytes uncompressed
	bytes   int64
}

type batch struct {
	lines   []byte
	records int64
	done    chan struct{}
	err     error
}

// newJournal returns the journal of a run. The first record creates its folder.
func newJournal(fsys disk.FS, root, run string) *journal {
	j := &journal{fsys: fsys, root: root, run: run, next: 1}
	j.taken = sync.NewCond(&j.mu)
	return j
}

// Put returns when the records are durable. If the context is cancelled it returns at once, and the
// records may or may not become durable.
func (j *journal) Put(ctx context.Context, recs []schema.Record) error {
	size := 0
	for i := range recs {
		size += len(recs[i].Body) + len(recs[i].CallID) + recordOverhead
	}
	lines := make([]byte, 0, size)
	for i := range recs {
		var err error
		if lines, err = appendRecord(lines, &recs[i]); err != nil {
			return err
		}
	}
	j.mu.Lock()
	for j.failed == nil && (j.sealing || j.batch != nil && len(j.batch.lines)+len(lines) > maxBatch) {
		j.taken.Wait()
	}
	if j.failed != nil {
		defer j.mu.Unlock()
		return j.failed
	}
	if j.batch == nil {
		j.batch = &batch{lines: lines, done: make(chan struct{})}
	} else {
		j.batch.lines = append(j.batch.lines, lines...)
	}
	b := j.batch
	b.records += int64(len(recs))
	if !j.writing {
		j.writing = true
		go j.drain()
	}
	j.mu.Unlock()
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain writes batches until none is left.
func (j *journal) drain() {
	for {
		j.mu.Lock()
		b := j.batch
		j.batch = nil
		if b == nil {
			j.writing = false
			j.taken.Broadcast()
			j.mu.Unlock()
			return
		}
		err := j.failed
		j.mu.Unlock()
		if err == nil {
			err = j.write(b)
		}
		j.mu.Lock()
		j.failed = err
		j.taken.Broadcast()
		j.mu.Unlock()
		b.err = err
		close(b.done)
	}
}

// write appends one batch to the open segment and makes it durable. Only drain calls it, so one
// goroutine at a time.
func (j *journal) write(b *batch) error {
	var frames []byte
	for rest := b.lines; len(rest) > 0; {
		n := len(rest)
		if n > maxLines { // of whole lines
			n = max(bytes.LastIndexByte(rest[:maxLines], '\n'), bytes.IndexByte(rest, '\n')) + 1
		}
		frames = appendFrame(frames, rest[:n])
		rest = rest[n:]
	}
	if j.file == nil {
		if err := j.openSegment(); err != nil {
			return fmt.Errorf("open a journal segment: %w", err)
		}
	}
	if _, err := j.file.Write(frames); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync the journal: %w", err)
	}
	j.mu.Lock()
	j.records += b.records
	j.bytes += int64(len(b.lines))
	j.mu.Unlock()
	return nil
}

func (j *journal) openSegment() error {
	dir := filepath.Join(j.root, layout.JournalName, j.run)
	if !j.made {
		if err := disk.EnsureDir(j.fsys, dir); err != nil {
			return err
		}
		j.made = true
	}
	f, err := j.fsys.Create(filepath.Join(dir, layout.SegmentName(j.next)))
	if err != nil {
		return err
	}
	if err := j.fsys.SyncDir(dir); err != nil {
		return errors.Join(err, f.Close())
	}
	j.next++
	j.file = f
	return nil
}

// Size returns the number of records in the open segment, and their bytes.
func (j *journal) Size() (records, bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.records, j.bytes
}

// Seal waits for everything put so far, closes the open segment and returns it; ok is false if
// there is none. Later records go to a new one.
func (j *journal) Seal() (s layout.Segment, ok bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sealing = true
	for j.writing {
		j.taken.Wait()
	}
	j.sealing = false
	j.taken.Broadcast()
	if j.file == nil {
		return layout.Segment{}, false, nil
	}
	err = j.file.Close()
	j.file, j.records, j.bytes = nil, 0, 0
	if err != nil {
		return layout.Segment{}, false, fmt.Errorf("close a journal segment: %w", err)
	}
	return layout.Segment{Run: j.run, Number: j.next - 1}, true, nil
}
