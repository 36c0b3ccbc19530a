package publish

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"callhouse/internal/layout"
)

// manifests reads the list of a snapshot of Iceberg's.
func (w *work) manifests(ctx context.Context, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	raw, err := w.store.Get(ctx, s.ManifestList)
	if err != nil {
		return nil, err
	}
	return iceberg.ReadManifestList(bytes.NewReader(raw))
}

// mayBeOurs says whether files of ours may be in a manifest.
func (w *work) mayBeOurs(m iceberg.ManifestFile) bool {
	p := m.Partitions()
	if w.Organization == "" || len(p) == 0 || p[0].LowerBound == nil || p[0].UpperBound == nil {
		return true
	}
	return string(*p[0].LowerBound) <= w.Organization && w.Organization <= string(*p[0].UpperBound)
}

// read notes whose files a manifest names.
func (w *work) read(ctx context.Context, m iceberg.ManifestFile) error {
	raw, err := w.store.Get(ctx, m.FilePath())
	if err != nil {
		return err
	}
	entries, err := iceberg.ReadManifest(m, bytes.NewReader(raw), true)
	if err != nil {
		return fmt.Errorf("%s: %w", m.FilePath(), err)
	}
	for _, e := range entries {
		if whose, _ := e.DataFile().Partition()[organizationField].(string); whose != w.Organization {
			w.mixed = append(w.mixed, e)
			continue
		}
		w.have[e.DataFile().FilePath()] = e
	}
	return nil
}

// manifestRE matches the names that snapshots gives to manifests and their lists.
var manifestRE = regexp.MustCompile(`^[0-9]{6,}-[0-9a-f]{16}-(?:[mo][0-9]|(?:own-)?list)\.avro$`)

// snapshots writes the manifests of the table as it is to be, and returns the snapshots of
// Iceberg's for them: that of the table and, if others publish to it, one with our files alone.
func (w *work) snapshots(ctx context.Context, lacking []*layout.File, gone []iceberg.ManifestEntry) ([]*table.Snapshot, error) {
	s := &table.Snapshot{SnapshotID: rand.Int64(), SequenceNumber: 1, TimestampMs: w.Now().UnixMilli(), SchemaID: &w.schema.ID}
	if w.Metadata != nil {
		s.SequenceNumber = w.LastSequenceNumber() + 1
		s.TimestampMs = max(s.TimestampMs, w.LastUpdatedMillis())
		if now := w.CurrentSnapshot(); now != nil {
			s.ParentSnapshotID = &now.SnapshotID
		}
	}
	removed := map[string]bool{}
	var entries []iceberg.ManifestEntry
	for _, e := range gone {
		removed[e.DataFile().FilePath()] = true
		if e.DataFile().SpecID() > monthSpec {
			continue // somebody else's, partitioned in a way that is not ours
		}
		seq := e.SequenceNum()
		entries = append(entries, iceberg.NewManifestEntry(iceberg.EntryStatusDELETED, &s.SnapshotID, &seq, e.FileSequenceNum(), e.DataFile()))
	}
	for _, uri := range slices.Sorted(maps.Keys(w.have)) {
		if !removed[uri] {
			entries = append(entries, existing(w.have[uri]))
		}
	}
	for _, f := range lacking {
		told, err := w.tell(f)
		if err != nil {
			return nil, err
		}
		entries = append(entries, iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &s.SnapshotID, nil, nil, told))
	}
	w.written = nil
	name := fmt.Sprintf("%s/%s-%016x", w.folder(w.location, "metadata"), layout.SnapshotName(w.snap.Manifest.Snapshot), rand.Uint64())
	ours, err := w.write(ctx, s, name+"-m", entries)
	if err != nil {
		return nil, err
	}
	var others []iceberg.ManifestEntry
	for _, e := range w.mixed {
		others = append(others, existing(e))
	}
	theirs, err := w.write(ctx, s, name+"-o", others)
	if err != nil {
		return nil, err
	}
	if err := w.list(ctx, s, name+"-list.avro", slices.Concat(w.other, theirs, ours)); err != nil {
		return nil, err
	}
	s.Summary = w.summary(entries)
	if w.Organization == "" {
		return []*table.Snapshot{s}, nil
	}
	// The list has given our manifests their sequence numbers, which they keep.
	listed, err := w.manifests(ctx, s)
	if err != nil {
		return nil, err
	}
	alone := &table.Snapshot{SnapshotID: rand.Int64(), SequenceNumber: s.SequenceNumber + 1, TimestampMs: s.TimestampMs, Summary: s.Summary, SchemaID: s.SchemaID}
	return []*table.Snapshot{s, alone}, w.list(ctx, alone, name+"-own-list.avro", slices.DeleteFunc(listed, func(m iceberg.ManifestFile) bool {
		return !slices.ContainsFunc(ours, func(o iceberg.ManifestFile) bool { return o.FilePath() == m.FilePath() })
	}))
}

// existing returns a file's entry as one that an earlier commit added.
func existing(e iceberg.ManifestEntry) iceberg.ManifestEntry {
	id, seq := e.SnapshotID(), e.SequenceNum()
	return iceberg.NewManifestEntry(iceberg.EntryStatusEXISTING, &id, &seq, e.FileSequenceNum(), e.DataFile())
}

// write writes manifests, one for each way in which files are partitioned.
func (w *work) write(ctx context.Context, s *table.Snapshot, name string, entries []iceberg.ManifestEntry) (out []iceberg.ManifestFile, err error) {
	by := map[int32][]iceberg.ManifestEntry{}
	for _, e := range entries {
		by[e.DataFile().SpecID()] = append(by[e.DataFile().SpecID()], e)
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		var b bytes.Buffer
		uri := fmt.Sprintf("%s%d.avro", name, id)
		m, err := iceberg.WriteManifest(uri, &b, formatVersion, w.spec(int(id), w.Organization != ""), w.schema, s.SnapshotID, by[id])
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
func (w *work) list(ctx context.Context, s *table.Snapshot, uri string, manifests []iceberg.ManifestFile) error {
	var b bytes.Buffer
	if err := iceberg.WriteManifestList(formatVersion, &b, s.SnapshotID, s.ParentSnapshotID, &s.SequenceNumber, 0, manifests); err != nil {
		return err
	}
	s.ManifestList = uri
	return w.put(ctx, uri, b.Bytes())
}

func (w *work) put(ctx context.Context, uri string, body []byte) error {
	w.written = append(w.written, uri)
	return w.store.Put(ctx, uri, bytes.NewReader(body), int64(len(body)))
}

// summary says what a commit does to the table, and which commit of the warehouse's it is.
func (w *work) summary(entries []iceberg.ManifestEntry) *table.Summary {
	var files, rows, size [3]int64 // by the entries' status
	for _, e := range entries {
		files[e.Status()]++
		rows[e.Status()] += e.DataFile().Count()
		size[e.Status()] += e.DataFile().FileSizeBytes()
	}
	totalSize := int64(0)
	if w.Metadata != nil && w.CurrentSnapshot() != nil {
		totalSize, _ = strconv.ParseInt(w.CurrentSnapshot().Summary.Properties["total-files-size"], 10, 64)
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
	props := iceberg.Properties{
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
	op := table.OpAppend
	if files[deleted] > 0 || w.alien {
		op = table.OpOverwrite
	}
	return &table.Summary{Operation: op, Properties: props}
}
