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
			_ = facts(e.DataFile()) // decodes it now instead of on use
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

// mayBeOurs reports whether a manifest may list files of ours.
func (w *work) mayBeOurs(m iceberg.ManifestFile) bool {
	p := m.Partitions()
	if w.Organization == "" || len(p) == 0 || p[0].LowerBound == nil || p[0].UpperBound == nil {
		return true
	}
	return string(*p[0].LowerBound) <= w.Organization && w.Organization <= string(*p[0].UpperBound)
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
		if whose, _ := e.DataFile().Partition()[organizationField].(string); whose != w.Organization {
			w.mixed = append(w.mixed, e)
			continue
		}
		w.have[e.DataFile().FilePath()] = e
		w.leaky = w.leaky || w.leaks(e.DataFile())
	}
	return nil
}

// manifestRE matches the names of the manifests and lists that snapshots writes.
var manifestRE = regexp.MustCompile(`^[0-9]{6,}-[0-9a-f]{16}-(?:[mo][0-9]|(?:own-)?list)\.avro$`)

// snapshots writes the manifests of the table's new state, and returns its Iceberg snapshots: that
// of the table and, if others publish to it, one with our files only.
func (w *work) snapshots(ctx context.Context, lacking []*layout.File, gone []iceberg.ManifestEntry) ([]*catalog.Snapshot, error) {
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
		desc, err := w.scrubbed(e.DataFile(), w.Organization != "", true)
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
	name := fmt.Sprintf("%s/%s-%016x", w.folder(w.location, "metadata"), layout.SnapshotName(w.snap.Manifest.Snapshot), rand.Uint64())
	ours, err := w.write(ctx, s, name+"-m", entries)
	if err != nil {
		return nil, err
	}
	var others []iceberg.ManifestEntry
	for _, e := range w.mixed {
		entry, err := w.existing(e)
		if err != nil {
			return nil, err
		}
		others = append(others, entry)
	}
	inherited, err := w.write(ctx, s, name+"-o", others)
	if err != nil {
		return nil, err
	}
	if err := w.list(ctx, s, name+"-list.avro", slices.Concat(w.other, inherited, ours)); err != nil {
		return nil, err
	}
	s.Summary = w.summary(entries)
	if w.Organization == "" || !w.catalog.Capabilities().Tags {
		return []*catalog.Snapshot{s}, nil
	}
	// The list has assigned our manifests their permanent sequence numbers.
	listed, err := w.manifests(ctx, s)
	if err != nil {
		return nil, err
	}
	own := &catalog.Snapshot{ID: rand.Int64(), SequenceNumber: s.SequenceNumber + 1, Timestamp: s.Timestamp,
		Summary: s.Summary, Schema: s.Schema}
	if s.FirstRow != nil {
		next := *s.FirstRow + *s.AddedRows
		own.FirstRow = &next
	}
	listed = slices.DeleteFunc(listed, func(m iceberg.ManifestFile) bool {
		return !slices.ContainsFunc(ours, func(o iceberg.ManifestFile) bool { return o.FilePath() == m.FilePath() })
	})
	return []*catalog.Snapshot{s, own}, w.list(ctx, own, name+"-own-list.avro", listed)
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
	desc, err := w.scrubbed(e.DataFile(), w.Organization != "", false)
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
		m, err := iceberg.WriteManifest(uri, &b, w.format(), w.spec(int(id), w.Organization != ""), w.schema, s.ID, by[id])
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
	for _, e := range w.mixed {
		total, totalRows = total+1, totalRows+e.DataFile().Count()
	}
	for _, m := range w.other {
		total += int64(m.AddedDataFiles()) + int64(m.ExistingDataFiles())
		totalRows += m.AddedRows() + m.ExistingRows()
	}
	m := w.snap.Manifest
	props := map[string]string{
		"callhouse.snapshot":     strconv.FormatInt(m.Snapshot, 10),
		"callhouse.run-id":       m.RunID,
		"callhouse.committed-at": m.CommittedAt.UTC().Format("2006-01-02T15:04:05.999Z"),
	}
	if w.Organization != "" {
		props["callhouse.organization"] = w.Organization
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
