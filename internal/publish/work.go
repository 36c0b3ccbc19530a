package publish

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"callhouse/internal/layout"
	"callhouse/internal/publish/store"
)

// work is the publication of one table.
type work struct {
	*publication
	*form
	current
	location string         // of the table
	files    []*layout.File // that it is to have
	foreign  bool           // another warehouse published it, and is replaced

	have   map[string]iceberg.ManifestEntry // our files in the table, by address
	other  []iceberg.ManifestFile           // manifests without any
	mixed  []iceberg.ManifestEntry          // files of others in manifests with some of ours
	alien  bool                             // the table has what nobody published, as deletions row by row
	listed []store.Object                   // what lay below the location before anything was written
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

// publishes is the value of that property for what is published now.
func (w *work) publishes() string {
	m := w.snap.Manifest
	text := fmt.Sprintf("%d %s", m.Snapshot, m.Checksum)
	if m.Origin != nil {
		text += " " + m.Origin.Service + " " + m.Origin.Key
	}
	return text
}

// load reads the table as it is.
func (w *work) load(ctx context.Context) (err error) {
	w.files = w.snap.Manifest.FilesOf(w.of.Name)
	w.location = w.To + "/" + w.of.Name
	w.have, w.other, w.mixed, w.alien, w.before = map[string]iceberg.ManifestEntry{}, nil, nil, false, map[string]bool{}
	if w.current, err = w.catalog.load(ctx, w.of.Name); err != nil || w.metadata == nil {
		return err
	}
	w.location = w.Location
	if _, has := w.metadata.schema().FindFieldByID(organizationColumn); has != (w.Organization != "") {
		if has {
			return &UseError{"the tables there have a column organization: say whose calls these are (--organization)"}
		}
		return &UseError{"the tables there have no column organization, since one warehouse publishes to them: publish to another place"}
	}
	if err := w.mine(); err != nil {
		return err
	}
	now := w.head()
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

// look notes what lies below the table's location.
func (w *work) look(ctx context.Context) (err error) {
	w.listed, err = w.store.List(ctx, w.location)
	return err
}

// mine refuses a table that another warehouse published.
func (w *work) mine() error {
	last := w.Properties[w.published()]
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
		if err = w.catalog.commit(ctx, w.of.Name, w.current, updates); err == nil {
			w.version++
		}
		return err
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
func (w *work) updates(ctx context.Context) ([]update, error) {
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
	if w.metadata != nil {
		for name, ref := range w.Refs {
			refs[name] = ref.Snapshot
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
			updates = append(updates, update{Action: "add-snapshot", Snapshot: s})
			tagged = s.ID
		}
		refs[mainBranch] = snapshots[0].ID
		updates = append(updates, update{Action: "set-snapshot-ref", Ref: mainBranch, RefType: "branch", RefTo: snapshots[0].ID})
	}
	if refs[tag] != tagged {
		updates = append(updates, update{Action: "set-snapshot-ref", Ref: tag, RefType: "tag", RefTo: tagged})
		refs[tag] = tagged
	}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if name != tag && w.stale(name) {
			updates = append(updates, update{Action: "remove-snapshot-ref", Ref: name})
			delete(refs, name)
		}
	}
	// What no tag names any more goes: the tags are the history.
	var dropped []int64
	if w.metadata != nil {
		for _, s := range w.Snapshots {
			if !slices.Contains(slices.Collect(maps.Values(refs)), s.ID) {
				dropped = append(dropped, s.ID)
			}
		}
	}
	if len(dropped) > 0 {
		updates = append(updates, update{Action: "remove-snapshots", Gone: dropped})
	}
	if published := w.publishes(); w.metadata == nil || w.Properties[w.published()] != published {
		updates = append(updates, update{Action: "set-properties", Properties: map[string]string{w.published(): published}})
	}
	return updates, nil
}

// shape returns the updates that make the table, or give it columns that it lacks.
func (w *work) shape() []update {
	if w.metadata != nil {
		have := w.metadata.schema()
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
		for _, s := range w.Schemas {
			next = max(next, s.ID+1)
		}
		w.schema = iceberg.NewSchema(next, fields...)
		return []update{{Action: "add-schema", Schema: w.schema}, {Action: "set-current-schema", SchemaID: &lastAdded}}
	}
	updates := []update{
		{Action: "assign-uuid", UUID: uuid.NewString()},
		{Action: "upgrade-format-version", FormatVersion: formatVersion},
		{Action: "set-location", Location: w.location},
		{Action: "add-schema", Schema: w.schema}, {Action: "set-current-schema", SchemaID: &lastAdded},
	}
	specs := []int{wholeSpec}
	if w.start != nil {
		specs = append(specs, monthSpec)
	}
	for _, id := range specs {
		spec := w.spec(id, w.Organization != "")
		updates = append(updates, update{Action: "add-spec", Spec: &spec})
	}
	return append(updates, update{Action: "set-default-spec", SpecID: &lastAdded},
		update{Action: "add-sort-order", SortOrder: &w.order}, update{Action: "set-default-sort-order", SortOrderID: &lastAdded},
		update{Action: "set-properties", Properties: map[string]string{
			// Engines that expire snapshots or look for orphans would remove files of ours.
			"gc.enabled":                           "false",
			"write.metadata.previous-versions-max": strconv.Itoa(keptVersions),
			"comment":                              "published by callhouse, which makes it what its warehouse is: changes by others do not last",
		}})
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
