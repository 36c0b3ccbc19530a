package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"callhouse/internal/layout"
)

// work is the publication of one table.
type work struct {
	*publication
	*form
	current
	location string         // of the table
	files    []*layout.File // that it is to have
	foreign  bool           // another warehouse published it, and is replaced

	have  map[string]iceberg.ManifestEntry // our files in the table, by address
	other []iceberg.ManifestFile           // manifests without any
	mixed []iceberg.ManifestEntry          // files of others in manifests with some of ours
	alien bool                             // the table has what nobody published, as deletions row by row
	// before are the addresses of the list and the manifests that the table had when it was
	// loaded. Who is planning a query reads them, so they stay until the next publication.
	before map[string]bool

	described map[string]iceberg.DataFile // files that the table lacked, by address
	written   []string                    // addresses of manifests and lists that the commit has
	result    Table
}

// published is the name of the table's property that says what we published last.
func (w *work) published() string {
	if w.Organization == "" {
		return "callhouse.published"
	}
	return "callhouse.published." + w.Organization
}

// load reads the table as it is.
func (w *work) load(ctx context.Context) (err error) {
	w.files = w.snap.Manifest.FilesOf(w.of.Name)
	w.location = w.To + "/" + w.of.Name
	w.have, w.other, w.mixed, w.alien, w.before = map[string]iceberg.ManifestEntry{}, nil, nil, false, map[string]bool{}
	if w.current, err = w.catalog.load(ctx, w.of.Name); err != nil || w.Metadata == nil {
		return err
	}
	w.location = w.Location()
	if _, has := w.CurrentSchema().FindFieldByID(organizationColumn); has != (w.Organization != "") {
		if has {
			return &UseError{"the tables there have a column organization: say whose calls these are (--organization)"}
		}
		return &UseError{"the tables there have no column organization, since one warehouse publishes to them: publish to another place"}
	}
	if err := w.mine(); err != nil {
		return err
	}
	now := w.CurrentSnapshot()
	if now == nil {
		return nil
	}
	manifests, err := w.manifests(ctx, now)
	if err != nil {
		return err
	}
	w.before[now.ManifestList] = true
	for _, m := range manifests {
		w.before[m.FilePath()] = true
		switch {
		case m.ManifestContent() == iceberg.ManifestContentDeletes:
			w.alien = true
		case !w.mayBeOurs(m):
			w.other = append(w.other, m)
		default:
			if err := w.read(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// mine refuses a table that another warehouse published.
func (w *work) mine() error {
	last := w.Properties()[w.published()]
	if last == "" {
		return nil
	}
	var n int64
	var checksum, service, key string
	_, _ = fmt.Sscan(last, &n, &checksum, &service, &key)
	wrong := ""
	m := w.snap.Manifest
	if n < m.Oldest {
		w.mu.Lock()
		w.report.Forgotten = true
		w.mu.Unlock()
	}
	switch at := slices.IndexFunc(w.kept, func(s *layout.Snapshot) bool { return s.Manifest.Snapshot == n }); {
	case m.Origin != nil && service != "" && service != m.Origin.Service && key != m.Origin.Key:
		wrong = "its calls are from " + service
	case n > m.Snapshot:
		wrong = fmt.Sprintf("its snapshot %d was published, and this one's last is %d", n, m.Snapshot)
	case at >= 0 && w.kept[at].Manifest.Checksum != checksum:
		wrong = fmt.Sprintf("its snapshot %d is another one than this one's", n)
	}
	if w.foreign = wrong != ""; w.foreign && !w.Adopt {
		return &ForeignError{wrong}
	}
	return nil
}

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

// lacking returns the files that the table does not have.
func (w *work) lacking() (out []*layout.File) {
	for _, f := range w.files {
		if _, has := w.have[w.object(w.location, f)]; !has {
			out = append(out, f)
		}
	}
	return out
}

// commit makes the table have the snapshot's files, in one commit of Iceberg's.
func (w *work) commit(ctx context.Context) error {
	first := true // it is as it was loaded
	return again(ctx, func() error {
		if !first {
			if err := w.load(ctx); err != nil {
				return err
			}
		}
		first = false
		updates, err := w.updates(ctx)
		if err != nil || len(updates) == 0 {
			return err
		}
		return w.catalog.commit(ctx, w.of.Name, w.current, updates)
	})
}

// tell returns what Iceberg is told of a file that the table lacks.
func (w *work) tell(f *layout.File) (iceberg.DataFile, error) {
	uri := w.object(w.location, f)
	if told := w.described[uri]; told != nil { // by a commit that was overtaken
		return told, nil
	}
	err := w.opened(f, func(c *copied) (err error) {
		w.described[uri], err = w.describe(c, f, uri, w.Organization)
		return err
	})
	return w.described[uri], err
}

// updates returns what has to change in the table's metadata; nothing if it is as it is to be.
// It writes the manifests that the changes name.
func (w *work) updates(ctx context.Context) ([]table.Update, error) {
	updates := w.shape()
	var gone []iceberg.ManifestEntry
	wanted := map[string]bool{}
	w.result = Table{Name: w.of.Name, Files: len(w.files)}
	for _, f := range w.files {
		wanted[w.object(w.location, f)] = true
		w.result.Rows += f.Rows
	}
	for _, uri := range slices.Sorted(maps.Keys(w.have)) {
		if !wanted[uri] {
			gone = append(gone, w.have[uri])
		}
	}
	lacking := w.lacking()
	w.result.Added, w.result.Deleted = len(lacking), len(gone)

	refs := map[string]int64{}
	if w.Metadata != nil {
		for name, ref := range w.Refs() {
			refs[name] = ref.SnapshotID
		}
	}
	tag, tagged := w.tag(w.snap.Manifest.Snapshot), int64(0)
	if id, ok := w.lastTagged(refs); ok && !w.foreign {
		tagged = id
	}
	if len(lacking) > 0 || len(gone) > 0 || w.alien || len(w.mixed) > 0 || tagged == 0 {
		snapshots, err := w.snapshots(ctx, lacking, gone)
		if err != nil {
			return nil, err
		}
		for _, s := range snapshots {
			updates = append(updates, table.NewAddSnapshotUpdate(s))
			tagged = s.SnapshotID
		}
		refs[table.MainBranch] = snapshots[0].SnapshotID
		updates = append(updates, table.NewSetSnapshotRefUpdate(table.MainBranch, snapshots[0].SnapshotID, table.BranchRef, 0, 0, 0))
	}
	if refs[tag] != tagged {
		updates = append(updates, table.NewSetSnapshotRefUpdate(tag, tagged, table.TagRef, 0, 0, 0))
		refs[tag] = tagged
	}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if name != tag && w.stale(name) {
			updates = append(updates, table.NewRemoveSnapshotRefUpdate(name))
			delete(refs, name)
		}
	}
	// What no tag names any more goes: the tags are the history.
	var dropped []int64
	if w.Metadata != nil {
		for _, s := range w.Snapshots() {
			if !slices.Contains(slices.Collect(maps.Values(refs)), s.SnapshotID) {
				dropped = append(dropped, s.SnapshotID)
			}
		}
	}
	if len(dropped) > 0 {
		updates = append(updates, table.NewRemoveSnapshotsUpdate(dropped, false))
	}
	m := w.snap.Manifest
	published := fmt.Sprintf("%d %s", m.Snapshot, m.Checksum)
	if m.Origin != nil {
		published += " " + m.Origin.Service + " " + m.Origin.Key
	}
	if w.Metadata == nil || w.Properties()[w.published()] != published {
		updates = append(updates, table.NewSetPropertiesUpdate(iceberg.Properties{w.published(): published}))
	}
	return updates, nil
}

// shape returns the updates that make the table, or give it columns that it lacks.
func (w *work) shape() []table.Update {
	if w.Metadata != nil {
		have := w.CurrentSchema()
		fields := have.Fields()
		for _, f := range w.schema.Fields() {
			if _, ok := have.FindFieldByID(f.ID); !ok {
				fields = append(fields, f)
			}
		}
		if len(fields) == len(have.Fields()) {
			w.schema = have
			return nil
		}
		next := 0
		for _, s := range w.Schemas() {
			next = max(next, s.ID+1)
		}
		w.schema = iceberg.NewSchema(next, fields...)
		return []table.Update{table.NewAddSchemaUpdate(w.schema), table.NewSetCurrentSchemaUpdate(-1)}
	}
	updates := []table.Update{
		table.NewAssignUUIDUpdate(uuid.New()),
		table.NewUpgradeFormatVersionUpdate(formatVersion),
		table.NewSetLocationUpdate(w.location),
		table.NewAddSchemaUpdate(w.schema), table.NewSetCurrentSchemaUpdate(-1),
	}
	specs := []int{wholeSpec}
	if w.start != nil {
		specs = append(specs, monthSpec)
	}
	for i, id := range specs {
		spec := w.spec(id, w.Organization != "")
		updates = append(updates, table.NewAddPartitionSpecUpdate(&spec, i == 0))
	}
	return append(updates, table.NewSetDefaultSpecUpdate(-1),
		table.NewAddSortOrderUpdate(&w.order), table.NewSetDefaultSortOrderUpdate(-1),
		table.NewSetPropertiesUpdate(iceberg.Properties{
			// Engines that expire snapshots or look for orphans would remove files of ours.
			"gc.enabled":                           "false",
			"write.metadata.previous-versions-max": strconv.Itoa(keptVersions),
			"comment":                              "published by callhouse, which makes it what its warehouse is: changes by others do not last",
		}))
}

// stale says whether a name is a tag of ours whose commit the warehouse does not have any more.
func (w *work) stale(name string) bool {
	n, ok := w.tagged(name)
	return ok && (w.foreign || !slices.ContainsFunc(w.kept, func(s *layout.Snapshot) bool { return s.Manifest.Snapshot == n }))
}

// tagged returns the number of the commit that a tag of ours names.
func (w *work) tagged(name string) (int64, bool) {
	number, ok := strings.CutPrefix(name, w.tagPrefix())
	if !ok {
		return 0, false
	}
	return layout.ParseSnapshotName(number)
}

// lastTagged returns which of Iceberg's snapshots our last tag names.
func (w *work) lastTagged(refs map[string]int64) (id int64, ok bool) {
	last := int64(-1)
	for name, ref := range refs {
		if n, ours := w.tagged(name); ours && n > last {
			last, id, ok = n, ref, true
		}
	}
	return id, ok
}

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

var manifestRE = regexp.MustCompile(`^[0-9]{6,}-[0-9a-f]{16}-(?:[mo][0-9]|(?:own-)?list)\.avro$`)

// clean removes copies of files that no snapshot of the warehouse has, manifests that no commit
// has, and old metadata.
func (w *work) clean(ctx context.Context) error {
	keep := map[string]bool{}
	for _, s := range w.kept {
		for _, f := range s.Manifest.FilesOf(w.of.Name) {
			keep[w.object(w.location, f)] = true
		}
	}
	data, err := w.store.List(ctx, w.folder(w.location, "data"))
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(data, func(uri string) bool { return keep[uri] || !objectRE.MatchString(path.Base(uri)) })
	w.mu.Lock()
	w.report.Removed = append(w.report.Removed, gone...)
	w.mu.Unlock()

	listed, err := w.store.List(ctx, w.folder(w.location, "metadata"))
	if err != nil {
		return err
	}
	doubtful := slices.DeleteFunc(slices.Clone(listed), func(uri string) bool {
		return !manifestRE.MatchString(path.Base(uri)) || w.before[uri] || slices.Contains(w.written, uri)
	})
	if len(doubtful) > 0 {
		used, err := w.used(ctx)
		if err != nil {
			return err
		}
		gone = append(gone, slices.DeleteFunc(doubtful, func(uri string) bool { return used[uri] })...)
	}
	if _, ok := w.catalog.(*files); ok {
		for _, uri := range listed {
			if n := versionOf(uri); n > 0 && n < w.version-keptVersions {
				gone = append(gone, uri)
			}
		}
	}
	return errors.Join(w.store.Remove(ctx, gone), w.store.Abandoned(ctx, w.folder(w.location, "data")))
}

// used returns the addresses of the manifests and lists that the table has now.
func (w *work) used(ctx context.Context) (map[string]bool, error) {
	now, err := w.catalog.load(ctx, w.of.Name)
	if err != nil {
		return nil, err
	}
	w.version = now.version
	used := map[string]bool{}
	main := now.CurrentSnapshot()
	for name, ref := range now.Refs() {
		if _, ours := w.tagged(name); !ours && (main == nil || ref.SnapshotID != main.SnapshotID) {
			continue
		}
		s := now.SnapshotByID(ref.SnapshotID)
		if used[s.ManifestList] {
			continue
		}
		used[s.ManifestList] = true
		manifests, err := w.manifests(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, m := range manifests {
			used[m.FilePath()] = true
		}
	}
	return used, nil
}
