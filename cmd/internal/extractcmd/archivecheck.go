package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
)

// checkedRecordings is the result of checkRecordings.
type checkedRecordings struct {
	Archive  string         `json:"archive"`
	Files    int64          `json:"recordings"`
	Bytes    int64          `json:"bytes"`
	Hashed   bool           `json:"hashed"` // the content was also compared, not only the length
	Count    int64          `json:"problems"`
	Problems []sink.Problem `json:"problem_list"` // only the first ones
}

// checkRecordings compares the archive's files with the rows of the current snapshot: that they exist and have
// the recorded length and, with deep, the recorded checksum. It returns nil if there is no archive.
func checkRecordings(ctx context.Context, root string, deep bool) (*checkedRecordings, error) {
	s, err := layout.Current(root)
	if err != nil || s.Manifest.Archive == "" {
		return nil, err
	}
	var bad sink.Problems
	out, err := eachWrong(ctx, root, s, deep, func(c *calls.Call, r *schema.Recording, what string) error {
		bad.Add("recording", r.Path, "the recording of call %s %s", c.ID(), what)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		out.Count++
		bad.Add("recording", out.Archive, "%v", err)
		err = nil
	}
	out.Problems = bad.List()
	return out, err
}

// eachWrong calls found for each recording that is stored according to its row, but whose file is missing or differs.
func eachWrong(ctx context.Context, root string, s *layout.Snapshot, deep bool, found func(*calls.Call, *schema.Recording, string) error) (
	*checkedRecordings, error) {
	out := &checkedRecordings{Archive: layout.ArchivePlace(s.Manifest.Archive), Hashed: deep}
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return out, err
	}
	a, err := recording.Open(recording.Config{To: s.Manifest.Archive})
	if err != nil {
		return out, err
	}
	defer a.Close()
	reader := sink.NewReader(fsys, s, nil)
	files := &files{archive: a}
	for _, f := range reader.Files(schema.Calls.Name) {
		if rows := s.Manifest.FileOf(schema.Recordings.Name, f.Period); rows == nil || rows.Recordings[schema.RecordingStored] == 0 {
			continue
		}
		err := reader.EachCall(ctx, f.Period, []*schema.Table{&schema.Recordings}, func(c *calls.Call) error {
			r, _ := c.Recording()
			if r.State != schema.RecordingStored {
				return nil
			}
			out.Files++
			out.Bytes += r.Bytes
			what, err := files.compare(ctx, &r, deep)
			if what == "" || err != nil {
				return err
			}
			out.Count++
			return found(c, &r, what)
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// files are the files of an archive. It caches the sizes of one day, since the calls of a day are consecutive.
type files struct {
	archive *recording.Archive
	dir     string
	sizes   map[string]int64
}

// compare describes how a file differs from its row; empty if it matches.
func (f *files) compare(ctx context.Context, r *schema.Recording, deep bool) (what string, err error) {
	if !fs.ValidPath(r.Path) {
		return "has no place in an archive", nil
	}
	if dir := path.Dir(r.Path); dir != f.dir || f.sizes == nil {
		if f.sizes, err = f.archive.Sizes(ctx, dir); err != nil {
			return "", err
		}
		f.dir = dir
	}
	switch size, there := f.sizes[r.Path]; {
	case !there:
		return "is missing", nil
	case size != r.Bytes:
		return fmt.Sprintf("has %d bytes, not %d", size, r.Bytes), nil
	case !deep:
		return "", nil
	}
	sum, _, err := f.archive.Sum(ctx, r.Path)
	if err == nil && sum != r.SHA256 {
		what = fmt.Sprintf("has the SHA-256 %s, not %s", sum, r.SHA256)
	}
	return what, err
}

// repairRecordings marks the recordings that checkRecordings would report as due, so that runs fetch them again. With dry it
// only counts them. The caller commits.
func repairRecordings(ctx context.Context, w *sink.Warehouse, root string, deep, dry bool, now time.Time) (n int64, err error) {
	s := w.Snapshot()
	if s == nil || s.Manifest.Archive == "" {
		return 0, nil
	}
	out, err := eachWrong(ctx, root, s, deep, func(c *calls.Call, r *schema.Recording, what string) error {
		if dry {
			return nil
		}
		of := calls.RecordingOf(c)
		due := schema.Recording{State: schema.RecordingDue, FetchedAt: r.FetchedAt, Reason: "the stored file " + what}
		rec, err := of.Record(due, now.UnixMilli())
		if err != nil {
			return err
		}
		return w.Put(ctx, rec)
	})
	return out.Count, err
}
