package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"

	"callhouse/internal/layout"
	"callhouse/internal/publish/store"
	"callhouse/internal/schema"
)

// table is the publication of one table.
type table struct {
	*publication
	of    *schema.Table
	start int            // field id of the column with the start of a row's call; 0: none
	files []*layout.File // that the table should have

	meta    *metadata // as the catalog has it; nil: the table does not exist
	file    string    // address of the metadata, in a catalog of files
	version int       // its number there
	sent    bool      // some of the files

	listed []store.Object    // objects below the location, before anything is written
	copies map[string]copyAt // complete copies of the warehouse's files, by their stem

	result Table
}

// copyAt is a copy at the destination.
type copyAt struct {
	uri  string
	size int64
}

const (
	published = "callhouse.published" // the property that records the last publication
	toKey     = "callhouse.to"        // the property with the destination whose lock protects the table
	filesKey  = "callhouse.files"     // in a snapshot's summary: a sum of its files' addresses
	tagPrefix = "snapshot-"
)

var (
	objectRE   = regexp.MustCompile(`^(.+-[0-9a-f]{16})-([0-9]+)\.parquet$`)
	manifestRE = regexp.MustCompile(`^([0-9]{6,}-[0-9a-f]{16})-(?:m0|list)\.avro$`)
)

// stemOf returns the beginning of the name of a file's copy, which its size follows. Equal names mean
// equal content.
func stemOf(f *layout.File) string {
	return strings.TrimSuffix(filepath.Base(f.Path), ".parquet") + "-" + f.SHA256[:16]
}

// load reads the table's metadata, and lists its objects.
func (t *table) load(ctx context.Context) (err error) {
	t.files = t.snap.Manifest.FilesOf(t.of.Name)
	if err := t.catalog.load(ctx, t); err != nil || t.meta == nil {
		return err
	}
	if err := t.checkOwner(); err != nil {
		return err
	}
	return t.list(ctx)
}

// create creates a table that does not exist.
func (t *table) create(ctx context.Context) error {
	if t.meta != nil {
		return nil
	}
	if err := t.catalog.create(ctx, t); err != nil {
		return err
	}
	return t.list(ctx)
}

// list lists the objects below the table's location.
func (t *table) list(ctx context.Context) (err error) {
	if t.listed == nil {
		t.listed, err = t.store.List(ctx, t.meta.Location)
	}
	t.copies = map[string]copyAt{}
	for _, o := range t.listed {
		if m := objectRE.FindStringSubmatch(nameIn(t.folder("data"), o)); m != nil && m[2] == strconv.FormatInt(o.Size, 10) {
			t.copies[m[1]] = copyAt{o.URI, o.Size}
		}
	}
	return err
}

// folder returns the folder of one kind of our objects.
func (t *table) folder(kind string) string {
	return strings.TrimRight(t.meta.Location, "/") + "/" + kind
}

// nameIn returns the name of an object directly in a folder; empty for others.
func nameIn(folder string, o store.Object) string {
	name, in := strings.CutPrefix(o.URI, folder+"/")
	if !in || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// publishes returns the value of the property published for this publication.
func (t *table) publishes() string {
	m := t.snap.Manifest
	text := fmt.Sprintf("%d %s", m.Snapshot, m.Checksum)
	if m.Origin != nil {
		text += " " + m.Origin.Service + " " + m.Origin.Key
	}
	return text
}

// checkOwner returns an error for a table that another warehouse published.
func (t *table) checkOwner() error {
	last := t.meta.Properties[published]
	if last == "" {
		return nil
	}
	var n int64
	var checksum, service, key string
	_, _ = fmt.Sscan(last, &n, &checksum, &service, &key)
	m := t.snap.Manifest
	t.mu.Lock()
	t.report.Forgotten = t.report.Forgotten || n < m.Oldest
	t.mu.Unlock()
	base := t.retainedAt(n)
	switch {
	case m.Origin != nil && service != "" && service != m.Origin.Service && key != m.Origin.Key:
		return foreign("its calls are from %s", service)
	case n > m.Snapshot:
		return foreign("its snapshot %d was published, but this warehouse's latest is %d", n, m.Snapshot)
	case base != nil && base.Manifest.Checksum != checksum:
		return foreign("its snapshot %d differs from this warehouse's", n)
	}
	if to := t.meta.Properties[toKey]; to != "" && to != t.To { // it would take another lock
		return &UseError{"it was published with --to " + to}
	}
	return nil
}

// retainedAt returns a snapshot that the warehouse still has; nil if it does not.
func (p *publication) retainedAt(n int64) *layout.Snapshot {
	for _, s := range p.retained {
		if s.Manifest.Snapshot == n {
			return s
		}
	}
	return nil
}

// base returns the files of the table's current snapshot by stem, as far as the warehouse still has
// that snapshot.
func (t *table) base() map[string]*layout.File {
	out := map[string]*layout.File{}
	var n int64
	_, _ = fmt.Sscan(t.meta.Properties[published], &n)
	if s := t.retainedAt(n); s != nil && t.meta.head() != nil && t.meta.head().Summary[filesKey] != "" {
		for _, f := range s.Manifest.FilesOf(t.of.Name) {
			out[stemOf(f)] = f
		}
	}
	return out
}

// opened calls do with a file in its published form.
func (t *table) opened(f *layout.File, do func(*copied) error) error {
	local, err := t.dir.Open(t.snap.Path(f))
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

// send copies a file. lost means that the table's current snapshot has it.
func (t *table) send(ctx context.Context, f *layout.File, c *copied, lost bool) error {
	if err := layout.VerifyChecksum(c.local, c.local.Name(), f); err != nil {
		return err
	}
	to := copyAt{fmt.Sprintf("%s/%s-%d.parquet", t.folder("data"), stemOf(f), c.size()), c.size()}
	if err := t.store.Put(ctx, to.uri, c, to.size); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.copies[stemOf(f)], t.sent = to, true
	t.report.Uploaded++
	t.report.Bytes += to.size
	if lost {
		t.report.Repaired = append(t.report.Repaired, to.uri)
	}
	return nil
}

// commit commits the snapshot's files to the table.
func (t *table) commit(ctx context.Context) error {
	c, err := t.plan(ctx)
	if err != nil || c == nil {
		return err
	}
	return t.catalog.commit(ctx, c)
}

// plan determines the change of the table, and writes the manifests that it names; nil: the table is
// up to date.
func (t *table) plan(ctx context.Context) (*change, error) {
	c := &change{table: t, tag: tagPrefix + layout.SnapshotName(t.snap.Manifest.Snapshot), properties: t.properties()}
	ours, _ := schemaOf(t.of, t.meta.CurrentSchema)
	if !ours.Equals(t.meta.columns()) {
		next := 0
		for _, s := range t.meta.Schemas {
			next = max(next, s.ID+1)
		}
		c.schema, _ = schemaOf(t.of, next)
	}
	var uris []string
	t.result = Table{Name: t.of.Name, Files: len(t.files)}
	for _, f := range t.files {
		uris = append(uris, t.copies[stemOf(f)].uri)
		t.result.Rows += f.Rows
	}
	slices.Sort(uris)
	sum := sha256.Sum256([]byte(strings.Join(uris, "\n")))
	if head := t.meta.head(); head != nil && head.Summary[filesKey] == hex.EncodeToString(sum[:]) {
		c.tagged = head.ID
	} else {
		columns := c.schema
		if columns == nil {
			columns = t.meta.columns()
		}
		s, err := t.commitOf(ctx, columns)
		if err != nil {
			return nil, err
		}
		s.Summary[filesKey] = hex.EncodeToString(sum[:])
		c.snapshot, c.tagged = s, s.ID
	}
	keep := map[int64]bool{c.tagged: true}
	for name, r := range t.meta.Refs {
		number, ours := strings.CutPrefix(name, tagPrefix)
		switch n, ok := layout.ParseSnapshotName(number); {
		case name == mainBranch, name == c.tag:
		case ours && ok && t.retainedAt(n) == nil:
			c.untag = append(c.untag, name)
		default:
			keep[r.Snapshot] = true
		}
	}
	slices.Sort(c.untag)
	for _, s := range t.meta.Snapshots { // the tags are the history
		if !keep[s.ID] {
			c.gone = append(c.gone, s.ID)
		}
	}
	if r, ok := t.meta.Refs[c.tag]; ok && r.Snapshot == c.tagged {
		c.tag = ""
	}
	if c.schema == nil && c.snapshot == nil && c.tag == "" && len(c.untag)+len(c.gone)+len(c.properties) == 0 {
		return nil, nil
	}
	return c, nil
}

// properties returns the table properties that need to be set.
func (t *table) properties() map[string]string {
	properties := map[string]string{
		// Engines that expire snapshots or remove orphans would delete our files.
		"gc.enabled": "false",
		// The catalog removes the metadata files that it replaces.
		"write.metadata.previous-versions-max":       strconv.Itoa(previousVersions),
		"write.metadata.delete-after-commit.enabled": "true",
		// Spark's vectorized reader in Iceberg 1.10 and earlier rejects texts encoded as
		// DELTA_LENGTH_BYTE_ARRAY.
		"read.parquet.vectorization.enabled": "false",
		"comment":                            "published by callhouse, which makes it what its warehouse is: changes by others do not last",
		published:                            t.publishes(),
		toKey:                                t.To,
	}
	maps.DeleteFunc(properties, func(name, value string) bool { return t.meta.Properties[name] == value })
	return properties
}

// manifestStem returns the beginning of the names of a snapshot's list and manifests; empty for other
// objects.
func manifestStem(uri string) string {
	if m := manifestRE.FindStringSubmatch(path.Base(uri)); m != nil {
		return m[1]
	}
	return ""
}

// commitOf writes the manifests of the table's new state, and returns its Iceberg snapshot.
func (t *table) commitOf(ctx context.Context, columns *iceberg.Schema) (*snapshot, error) {
	s := &snapshot{ID: rand.Int64(), SequenceNumber: t.meta.LastSequenceNumber + 1, Schema: columns.ID,
		Timestamp: max(time.Now().UnixMilli(), t.meta.LastUpdated)}
	head := t.meta.head()
	if head != nil {
		s.Parent = &head.ID
	}
	var entries []iceberg.ManifestEntry
	var n, rows, size [3]int64 // by status
	add := func(status iceberg.ManifestEntryStatus, f *layout.File, c copyAt) error {
		desc, err := t.describe(f, c, status != iceberg.EntryStatusDELETED)
		if err != nil {
			return err
		}
		e := iceberg.NewManifestEntry(status, &s.ID, nil, nil, desc)
		if status != iceberg.EntryStatusADDED { // it was added by the current snapshot, or by one before it
			id := &head.ID
			if status == iceberg.EntryStatusDELETED {
				id = &s.ID
			}
			e = iceberg.NewManifestEntry(status, id, &head.SequenceNumber, &head.SequenceNumber, desc)
		}
		entries = append(entries, e)
		n[status]++
		rows[status] += f.Rows
		size[status] += c.size
		return nil
	}
	base := t.base()
	known := len(base) > 0
	for _, f := range t.files {
		status := iceberg.EntryStatusADDED
		if base[stemOf(f)] != nil {
			status = iceberg.EntryStatusEXISTING
		}
		delete(base, stemOf(f))
		if err := add(status, f, t.copies[stemOf(f)]); err != nil {
			return nil, err
		}
	}
	operation := "overwrite"
	if head == nil || known && len(base) == 0 {
		operation = "append"
	}
	for _, stem := range slices.Sorted(maps.Keys(base)) {
		if c, has := t.copies[stem]; has {
			if err := add(iceberg.EntryStatusDELETED, base[stem], c); err != nil {
				return nil, err
			}
		}
	}
	stem := fmt.Sprintf("%s/%s-%016x", t.folder("metadata"), layout.SnapshotName(t.snap.Manifest.Snapshot), rand.Uint64())
	put := func(uri string, b *bytes.Buffer) error {
		return t.store.Put(ctx, uri, bytes.NewReader(b.Bytes()), int64(b.Len()))
	}
	var manifests []iceberg.ManifestFile
	if len(entries) > 0 {
		var b bytes.Buffer
		uri := stem + "-m0.avro"
		m, err := iceberg.WriteManifest(uri, &b, formatVersion, whole, columns, s.ID, entries)
		if err := errors.Join(err, put(uri, &b)); err != nil {
			return nil, err
		}
		manifests = append(manifests, m)
	}
	var b bytes.Buffer
	s.ManifestList = stem + "-list.avro"
	err := iceberg.WriteManifestList(formatVersion, &b, s.ID, s.Parent, &s.SequenceNumber, 0, manifests)
	if err := errors.Join(err, put(s.ManifestList, &b)); err != nil {
		return nil, err
	}
	const existing, added, deleted = iceberg.EntryStatusEXISTING, iceberg.EntryStatusADDED, iceberg.EntryStatusDELETED
	t.result.Added, t.result.Deleted = int(n[added]), int(n[deleted])
	s.Summary = map[string]string{"operation": operation, "callhouse.snapshot": strconv.FormatInt(t.snap.Manifest.Snapshot, 10)}
	for name, n := range map[string]int64{
		"added-data-files": n[added], "added-records": rows[added], "added-files-size": size[added],
		"deleted-data-files": n[deleted], "deleted-records": rows[deleted], "removed-files-size": size[deleted],
		"total-data-files": n[existing] + n[added], "total-records": rows[existing] + rows[added],
		"total-files-size": size[existing] + size[added],
	} {
		s.Summary[name] = strconv.FormatInt(n, 10)
	}
	return s, nil
}

// clean removes the objects with names of ours that neither the warehouse's snapshots nor the table's
// need, and existed before this publication wrote anything.
func (t *table) clean(ctx context.Context) error {
	keep := map[string]bool{}
	for _, s := range append(slices.Clip(t.retained), t.snap) { // tables share the list
		for _, f := range s.Manifest.FilesOf(t.of.Name) {
			keep[stemOf(f)] = true
		}
	}
	for _, s := range t.meta.Snapshots {
		keep[manifestStem(s.ManifestList)] = true
	}
	var gone []string
	for _, o := range t.listed {
		name := nameIn(t.folder("metadata"), o)
		if m := objectRE.FindStringSubmatch(nameIn(t.folder("data"), o)); m != nil {
			if !keep[m[1]] {
				gone = append(gone, o.URI)
				t.mu.Lock()
				t.report.Removed = append(t.report.Removed, o.URI)
				t.mu.Unlock()
			}
		} else if stem := manifestStem(name); stem != "" && !keep[stem] ||
			t.version > 0 && versionOf(name) > 0 && versionOf(name) < t.version-previousVersions {
			gone = append(gone, o.URI)
		}
	}
	err := t.store.Remove(ctx, gone)
	if err == nil && t.sent { // as was an interrupted upload's file
		err = t.store.RemoveUploads(ctx, t.meta.Location)
	}
	return err
}
