package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go"

	"callhouse/internal/layout"
	"callhouse/internal/publish/catalog"
)

// manifests reads the list of an Iceberg snapshot.
func (w *work) manifests(ctx context.Context, s *catalog.Snapshot) ([]iceberg.ManifestFile, error) {
	raw, err := w.fetch(ctx, s.ManifestList)
	if err != nil {
		return nil, err
	}
	return decoded(s.ManifestList, func() ([]iceberg.ManifestFile, error) { return iceberg.ReadManifestList(bytes.NewReader(raw)) })
}

// entries reads the entries of a manifest.
func entries(m iceberg.ManifestFile, raw []byte) ([]iceberg.ManifestEntry, error) {
	return decoded(m.FilePath(), func() ([]iceberg.ManifestEntry, error) {
		found, err := iceberg.ReadManifest(m, bytes.NewReader(raw), true)
		for _, e := range found {
			_ = e.DataFile().LowerBoundValues() // decodes it now instead of on use
		}
		return found, err
	})
}

// decoded returns the library's result for a file. The library panics on some damaged files.
func decoded[T any](uri string, decode func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil {
			err = &catalog.BrokenError{What: fmt.Sprintf("%s cannot be read: %v", uri, err)}
		}
	}()
	return decode()
}

// fetch reads a file that the table's metadata refers to.
func (w *work) fetch(ctx context.Context, uri string) ([]byte, error) {
	raw, err := w.store.Get(ctx, uri)
	if errors.Is(err, fs.ErrNotExist) {
		err = &catalog.BrokenError{What: uri + " is missing"}
	}
	return raw, err
}

// read records the owners of a manifest's files.
func (w *work) read(ctx context.Context, m iceberg.ManifestFile) error {
	raw, err := w.fetch(ctx, m.FilePath())
	if err != nil {
		return err
	}
	found, err := entries(m, raw)
	if err != nil {
		return err
	}
	for _, e := range found {
		w.have[e.DataFile().FilePath()] = e
		w.leaky = w.leaky || w.leaks(e.DataFile())
	}
	return nil
}

// manifestRE matches the names of the manifests and lists that snapshots writes.
var manifestRE = regexp.MustCompile(`^[0-9]{6,}-[0-9a-f]{16}-(?:m[0-9]|list)\.avro$`)

// commitOf writes the manifests of the table's new state, and returns its Iceberg snapshot.
func (w *work) commitOf(ctx context.Context, lacking []*layout.File, gone []iceberg.ManifestEntry) (*catalog.Snapshot, error) {
	s := &catalog.Snapshot{ID: rand.Int64(), SequenceNumber: 1, Timestamp: w.Now().UnixMilli(), Schema: &w.schema.ID}
	if w.Metadata != nil {
		s.FirstRow = w.NextRow
		s.SequenceNumber = w.LastSequenceNumber + 1
		s.Timestamp = max(s.Timestamp, w.LastUpdated)
		if now := w.Head(); now != nil {
			s.Parent = &now.ID
		}
	}
	removed := map[string]bool{}
	var entries []iceberg.ManifestEntry
	for _, e := range gone {
		removed[e.DataFile().FilePath()] = true
		if e.DataFile().SpecID() > monthSpec {
			continue // another owner's file, in a partitioning that is not ours
		}
		desc, err := w.scrubbed(e.DataFile(), true)
		if err != nil {
			return nil, err
		}
		seq := e.SequenceNum()
		entries = append(entries, iceberg.NewManifestEntry(iceberg.EntryStatusDELETED, &s.ID, &seq, e.FileSequenceNum(), desc))
	}
	for _, uri := range slices.Sorted(maps.Keys(w.have)) {
		if removed[uri] {
			continue
		}
		e, err := w.existing(w.have[uri])
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	for _, f := range lacking {
		desc, err := w.dataFile(f)
		if err != nil {
			return nil, err
		}
		entries = append(entries, iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &s.ID, nil, nil, desc))
	}
	w.written = nil
	name := fmt.Sprintf("%s/metadata/%s-%016x", w.location, layout.SnapshotName(w.snap.Manifest.Snapshot), rand.Uint64())
	ours, err := w.write(ctx, s, name+"-m", entries)
	if err != nil {
		return nil, err
	}
	s.Summary = w.summary(entries)
	return s, w.list(ctx, s, name+"-list.avro", ours)
}

// format returns the version of the table's Iceberg format.
func (w *work) format() int {
	if w.Metadata != nil {
		return w.FormatVersion
	}
	return catalog.FormatVersion
}

// existing returns a file's entry, marked as added by an earlier commit.
func (w *work) existing(e iceberg.ManifestEntry) (iceberg.ManifestEntry, error) {
	desc, err := w.scrubbed(e.DataFile(), false)
	id, seq := e.SnapshotID(), e.SequenceNum()
	return iceberg.NewManifestEntry(iceberg.EntryStatusEXISTING, &id, &seq, e.FileSequenceNum(), desc), err
}

// write writes manifests, one for each partitioning.
func (w *work) write(ctx context.Context, s *catalog.Snapshot, name string,
	entries []iceberg.ManifestEntry) (out []iceberg.ManifestFile, err error) {
	by := map[int32][]iceberg.ManifestEntry{}
	for _, e := range entries {
		by[e.DataFile().SpecID()] = append(by[e.DataFile().SpecID()], e)
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		var b bytes.Buffer
		uri := fmt.Sprintf("%s%d.avro", name, id)
		m, err := iceberg.WriteManifest(uri, &b, w.format(), w.spec(int(id)), w.schema, s.ID, by[id])
		if err != nil {
			return nil, err
		}
		if err := w.put(ctx, uri, b.Bytes()); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// list writes the list of a snapshot's manifests.
func (w *work) list(ctx context.Context, s *catalog.Snapshot, uri string, manifests []iceberg.ManifestFile) error {
	var b bytes.Buffer
	first := int64(0)
	if s.FirstRow != nil { // the list numbers the rows of manifests that have no numbers yet
		first, s.AddedRows = *s.FirstRow, new(int64)
		for _, m := range manifests {
			if m.FirstRowID() == nil {
				*s.AddedRows += m.ExistingRows() + m.AddedRows()
			}
		}
	}
	if err := iceberg.WriteManifestList(w.format(), &b, s.ID, s.Parent, &s.SequenceNumber, first, manifests); err != nil {
		return err
	}
	s.ManifestList = uri
	return w.put(ctx, uri, b.Bytes())
}

func (w *work) put(ctx context.Context, uri string, body []byte) error {
	w.written = append(w.written, uri)
	return w.store.Put(ctx, uri, bytes.NewReader(body), int64(len(body)))
}

// summary describes the changes of a commit to the table, and the warehouse's commit.
func (w *work) summary(entries []iceberg.ManifestEntry) map[string]string {
	var files, rows, size [3]int64 // by the entries' status
	for _, e := range entries {
		files[e.Status()]++
		rows[e.Status()] += e.DataFile().Count()
		size[e.Status()] += e.DataFile().FileSizeBytes()
	}
	totalSize := int64(0)
	if w.Metadata != nil && w.Head() != nil {
		totalSize, _ = strconv.ParseInt(w.Head().Summary["total-files-size"], 10, 64)
	}
	const existing, added, deleted = iceberg.EntryStatusEXISTING, iceberg.EntryStatusADDED, iceberg.EntryStatusDELETED
	total, totalRows := files[existing]+files[added], rows[existing]+rows[added]
	m := w.snap.Manifest
	props := map[string]string{
		"callhouse.snapshot":     strconv.FormatInt(m.Snapshot, 10),
		"callhouse.run-id":       m.RunID,
		"callhouse.committed-at": m.CommittedAt.UTC().Format("2006-01-02T15:04:05.999Z"),
	}
	for name, n := range map[string]int64{
		"added-data-files": files[added], "added-records": rows[added], "added-files-size": size[added],
		"deleted-data-files": files[deleted], "deleted-records": rows[deleted], "removed-files-size": size[deleted],
		"total-data-files": total, "total-records": totalRows, "total-files-size": totalSize + size[added] - size[deleted],
		"total-delete-files": 0, "total-position-deletes": 0, "total-equality-deletes": 0,
	} {
		props[name] = strconv.FormatInt(n, 10)
	}
	props["operation"] = "append"
	if files[deleted] > 0 || w.alien {
		props["operation"] = "overwrite"
	}
	return props
}
