package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"callhouse/internal/layout"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/publish/store"
)

// work is the publication of one table.
type work struct {
	*publication
	*form
	catalog.Current
	location string         // of the table
	files    []*layout.File // files that the table should have

	have   map[string]iceberg.ManifestEntry // our files in the table, by address
	alien  bool                             // the table has content that is not ours, such as deletions of single rows
	leaky  bool                             // manifests have bounds of our files that they must not have
	listed []store.Object                   // objects below the location, listed before anything was written
	sizes  map[string]int64                 // their sizes, by address
	// before are the addresses of the loaded table's list and manifests. Readers that are planning
	// a query may still use them, so they stay until the next publication.
	before map[string]bool

	was       catalog.Leftover            // the catalog's requirements for a new table
	anew      map[string]bool             // our files in the table that need a new description, by address
	described map[string]iceberg.DataFile // files that the table lacked, by address
	written   []string                    // addresses of the commit's manifests and lists
	planned   []catalog.Update
	result    Table
}

// published is the name of the table property that records our last publication.
const published = "callhouse.published"

// publishes returns the value of that property for this publication.
func (w *work) publishes() string {
	m := w.snap.Manifest
	text := fmt.Sprintf("%d %s", m.Snapshot, m.Checksum)
	if m.Origin != nil {
		text += " " + m.Origin.Service + " " + m.Origin.Key
	}
	return text
}

// load reads the current table.
func (w *work) load(ctx context.Context) (err error) {
	w.files = w.snap.Manifest.FilesOf(w.of.Name)
	w.location = w.To + "/" + w.of.Name
	w.have, w.alien, w.leaky, w.before = map[string]iceberg.ManifestEntry{}, false, false, map[string]bool{}
	w.Current, err = w.catalog.Load(ctx, w.of.Name)
	if _, own := w.catalog.(*catalog.Files); own && w.Metadata != nil && w.Location != w.location {
		err = &catalog.BrokenError{What: fmt.Sprintf("%s is of a table at %s", w.Current.File, w.Location)}
		w.Current = catalog.Current{}
	}
	if err != nil || w.Metadata == nil {
		return err
	}
	w.location = w.Location
	if err := w.checkOwner(); err != nil {
		return err
	}
	if now := w.Head(); now != nil {
		return w.readAll(ctx, now)
	}
	return nil
}

// readAll reads the files of an Iceberg snapshot.
func (w *work) readAll(ctx context.Context, now *catalog.Snapshot) error {
	manifests, err := w.manifests(ctx, now)
	if err != nil {
		return err
	}
	w.before[now.ManifestList] = true
	for _, m := range manifests {
		w.before[m.FilePath()] = true
		if m.ManifestContent() == iceberg.ManifestContentDeletes {
			w.alien = true
		} else if err := w.read(ctx, m); err != nil {
			return err
		}
	}
	maps.DeleteFunc(w.have, func(uri string, _ iceberg.ManifestEntry) bool { return w.anew[uri] })
	return nil
}

// look lists the objects below the table's location.
func (w *work) look(ctx context.Context) (err error) {
	w.listed, err = w.store.List(ctx, w.location)
	w.sizes = make(map[string]int64, len(w.listed))
	for _, o := range w.listed {
		w.sizes[o.URI] = o.Size
	}
	return err
}

// checkOwner returns an error for a table that another warehouse published.
func (w *work) checkOwner() error {
	last := w.Properties[published]
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
	switch at := slices.IndexFunc(w.retained, func(s *layout.Snapshot) bool { return s.Manifest.Snapshot == n }); {
	case m.Origin != nil && service != "" && service != m.Origin.Service && key != m.Origin.Key:
		wrong = "its calls are from " + service
	case n > m.Snapshot:
		wrong = fmt.Sprintf("its snapshot %d was published, but this warehouse's latest is %d", n, m.Snapshot)
	case at >= 0 && w.retained[at].Manifest.Checksum != checksum:
		wrong = fmt.Sprintf("its snapshot %d differs from this warehouse's", n)
	}
	if wrong != "" {
		return &ForeignError{wrong}
	}
	return nil
}

// lacking returns the files that the table lacks.
func (w *work) lacking() (out []*layout.File) {
	for _, f := range w.files {
		if _, has := w.have[objectOf(w.location, f)]; !has {
			out = append(out, f)
		}
	}
	return out
}

// stage asks the catalog for the location of a new table.
func (w *work) stage(ctx context.Context) (err error) {
	if w.Metadata != nil {
		return nil
	}
	spec := w.spec(wholeSpec)
	staged, err := w.catalog.Stage(ctx, &catalog.New{Name: w.of.Name, Location: w.location, Schema: w.schema, Spec: &spec,
		Order: &w.order, Staged: true})
	if staged.Location != "" {
		w.was, w.location = staged, staged.Location
	}
	return err
}

// plan determines the changes of the table.
func (w *work) plan(ctx context.Context) (err error) {
	w.planned, err = w.updates(ctx)
	return err
}

// dataFile returns the description of a file that the table lacks.
func (w *work) dataFile(f *layout.File) (iceberg.DataFile, error) {
	uri := objectOf(w.location, f)
	if desc := w.described[uri]; desc != nil { // described by a commit that lost to another one
		return desc, nil
	}
	err := w.opened(w.snap, f, func(c *copied) (err error) {
		w.described[uri], err = w.describe(c, f, uri)
		return err
	})
	return w.described[uri], err
}

// updates returns the changes of the table's metadata; none if it is up to date. It writes the
// manifests that they refer to.
func (w *work) updates(ctx context.Context) ([]catalog.Update, error) {
	updates := w.shape()
	var gone []iceberg.ManifestEntry
	wanted := map[string]bool{}
	w.result = Table{Name: w.of.Name, Files: len(w.files)}
	for _, f := range w.files {
		wanted[objectOf(w.location, f)] = true
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
		for name, ref := range w.Refs {
			refs[name] = ref.Snapshot
		}
	}
	tag, at := tagOf(w.snap.Manifest.Snapshot), int64(0)
	tags := w.catalog.Capabilities().Tags
	switch id, ok := w.lastTagged(refs); {
	case ok:
		at = id
	case !tags && w.Head() != nil && w.Properties[published] != "":
		at = w.Head().ID
	}
	if len(lacking) > 0 || len(gone) > 0 || w.alien || w.leaky || at == 0 {
		s, err := w.commitOf(ctx, lacking, gone)
		if err != nil {
			return nil, err
		}
		at = s.ID
		refs[catalog.MainBranch] = s.ID
		updates = append(updates, catalog.Update{Action: "add-snapshot", Snapshot: s},
			catalog.Update{Action: "set-snapshot-ref", Ref: catalog.MainBranch, RefType: "branch", RefTo: s.ID})
	}
	if tags && refs[tag] != at {
		updates = append(updates, catalog.Update{Action: "set-snapshot-ref", Ref: tag, RefType: "tag", RefTo: at})
		refs[tag] = at
	}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if name != tag && w.stale(name) {
			updates = append(updates, catalog.Update{Action: "remove-snapshot-ref", Ref: name})
			delete(refs, name)
		}
	}
	// Snapshots without a tag are removed, because the tags are the history. Servers before Iceberg
	// 1.9 accept one snapshot per update.
	if w.Metadata != nil && tags {
		for _, s := range w.Snapshots {
			if !slices.Contains(slices.Collect(maps.Values(refs)), s.ID) {
				updates = append(updates, catalog.Update{Action: "remove-snapshots", Gone: []int64{s.ID}})
			}
		}
	}
	if properties := w.properties(); len(properties) > 0 { // in one update, since some catalogs refuse two
		updates = append(updates, catalog.Update{Action: "set-properties", Properties: properties})
	}
	return updates, nil
}

// shape returns the updates that create the table or restore our columns.
func (w *work) shape() []catalog.Update {
	if w.Metadata != nil {
		have := w.Metadata.Columns()
		if fields := w.fields(have); fields != nil {
			next := 0
			for _, s := range w.Schemas {
				next = max(next, s.ID+1)
			}
			w.schema = iceberg.NewSchema(next, fields...)
			return []catalog.Update{{Action: "add-schema", Schema: w.schema, LastColumn: max(w.LastColumn, w.schema.HighestFieldID())},
				{Action: "set-current-schema", SchemaID: &catalog.LastAdded}}
		}
		w.schema = have
		return nil
	}
	updates := []catalog.Update{
		{Action: "assign-uuid", UUID: cmp.Or(w.was.UUID, uuid.NewString())},
		{Action: "upgrade-format-version", FormatVersion: catalog.FormatVersion},
		{Action: "set-location", Location: w.location},
	}
	// A catalog may number the columns of a table's first schema itself. If its numbers differ from
	// those in the files, its schema comes first and ours second.
	for _, s := range w.was.Schemas {
		if !w.numbered(s) {
			updates = append(updates, catalog.Update{Action: "add-schema", Schema: s, LastColumn: s.HighestFieldID()})
			w.schema = iceberg.NewSchema(s.ID+1, w.schema.Fields()...)
		}
	}
	updates = append(updates, catalog.Update{Action: "add-schema", Schema: w.schema, LastColumn: w.schema.HighestFieldID()},
		catalog.Update{Action: "set-current-schema", SchemaID: &catalog.LastAdded})
	specs := []int{wholeSpec}
	if w.start != nil {
		specs = append(specs, monthSpec)
	}
	for _, id := range specs {
		spec := w.spec(id)
		updates = append(updates, catalog.Update{Action: "add-spec", Spec: &spec})
	}
	return append(updates, catalog.Update{Action: "set-default-spec", SpecID: &catalog.LastAdded},
		catalog.Update{Action: "add-sort-order", SortOrder: &w.order},
		catalog.Update{Action: "set-default-sort-order", SortOrderID: &catalog.LastAdded})
}

// numbered reports whether the columns of a schema have our ids.
func (w *work) numbered(s *iceberg.Schema) bool {
	for _, own := range w.schema.Fields() {
		if f, ok := s.FindFieldByID(own.ID); !ok || f.Name != own.Name {
			return false
		}
	}
	return true
}

// properties returns the table properties that need to be set.
func (w *work) properties() map[string]string {
	properties := map[string]string{
		// Engines that expire snapshots or remove orphans would delete our files.
		"gc.enabled": "false",
		// The catalog removes the metadata files that it replaces.
		"write.metadata.previous-versions-max":       strconv.Itoa(catalog.PreviousVersions),
		"write.metadata.delete-after-commit.enabled": "true",
		// Spark's vectorized reader in Iceberg 1.10 and earlier rejects texts encoded as
		// DELTA_LENGTH_BYTE_ARRAY.
		"read.parquet.vectorization.enabled": "false",
		"comment":                            "published by callhouse, which makes it what its warehouse is: changes by others do not last",
		published:                            w.publishes(),
	}
	if w.Metadata != nil {
		maps.DeleteFunc(properties, func(name, value string) bool { return w.Properties[name] == value })
	}
	return properties
}

// fields returns the columns that the table should have; nil if it has them. Other columns are kept
// if they do not conflict: a newer version of this program may have added them.
func (w *work) fields(have *iceberg.Schema) (fields []iceberg.NestedField) {
	ours := formOf(w.of).schema
	same := true
	for _, f := range have.Fields() {
		switch own, ok := ours.FindFieldByID(f.ID); {
		case ok:
			same = same && own.Name == f.Name && own.Type.Equals(f.Type) && own.Required == f.Required
			fields = append(fields, own)
		default:
			_, named := ours.FindFieldByName(f.Name)
			if named || f.Required {
				same = false
			} else {
				fields = append(fields, f)
			}
		}
	}
	for _, f := range ours.Fields() {
		if _, ok := have.FindFieldByID(f.ID); !ok {
			fields, same = append(fields, f), false
		}
	}
	if same {
		return nil
	}
	return fields
}

// stale reports whether a name is one of our tags, for a commit that the warehouse no longer has.
func (w *work) stale(name string) bool {
	n, ok := tagged(name)
	has := func(s *layout.Snapshot) bool { return s.Manifest.Snapshot == n }
	return ok && !slices.ContainsFunc(w.retained, has)
}

// tagged returns the commit number in one of our tags.
func tagged(name string) (int64, bool) {
	number, ok := strings.CutPrefix(name, tagPrefix)
	if !ok {
		return 0, false
	}
	return layout.ParseSnapshotName(number)
}

// lastTagged returns the Iceberg snapshot of our last tag.
func (w *work) lastTagged(refs map[string]int64) (id int64, ok bool) {
	last := int64(-1)
	for name, ref := range refs {
		if n, ours := tagged(name); ours && n > last {
			last, id, ok = n, ref, true
		}
	}
	return id, ok
}
