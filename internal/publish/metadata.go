package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// metadata is the metadata of a table in version 2 of Iceberg's format. (The library's own package
// for it includes an expression engine, which takes a tenth of a second at each start of the
// program, and 35 MB.)
type metadata struct {
	FormatVersion      int               `json:"format-version"`
	UUID               string            `json:"table-uuid"`
	Location           string            `json:"location"`
	LastSequenceNumber int64             `json:"last-sequence-number"`
	LastUpdated        int64             `json:"last-updated-ms"`
	LastColumn         int               `json:"last-column-id"`
	Schemas            []*iceberg.Schema `json:"schemas"`
	CurrentSchema      int               `json:"current-schema-id"`
	Specs              []json.RawMessage `json:"partition-specs"` // written only once
	DefaultSpec        int               `json:"default-spec-id"`
	LastPartition      int               `json:"last-partition-id"`
	SortOrders         json.RawMessage   `json:"sort-orders"`
	DefaultSortOrder   int               `json:"default-sort-order-id"`
	Properties         map[string]string `json:"properties"`
	CurrentSnapshot    *int64            `json:"current-snapshot-id,omitempty"`
	Snapshots          []*snapshot       `json:"snapshots"`
	SnapshotLog        []logged          `json:"snapshot-log"`
	Refs               map[string]ref    `json:"refs"`
}

// snapshot is a state of a table: the files in a list of manifests.
type snapshot struct {
	ID             int64             `json:"snapshot-id"`
	Parent         *int64            `json:"parent-snapshot-id,omitempty"`
	SequenceNumber int64             `json:"sequence-number"`
	Timestamp      int64             `json:"timestamp-ms"`
	ManifestList   string            `json:"manifest-list"`
	Summary        map[string]string `json:"summary,omitempty"`
	Schema         int               `json:"schema-id"`
}

// logged is an entry in the log of current snapshots.
type logged struct {
	Snapshot  int64 `json:"snapshot-id"`
	Timestamp int64 `json:"timestamp-ms"`
}

// ref is a branch or a tag.
type ref struct {
	Snapshot int64  `json:"snapshot-id"`
	Type     string `json:"type"`
}

const (
	formatVersion = 2
	mainBranch    = "main"
	// previousVersions is the number of versions of the metadata that are kept before the last one.
	previousVersions = 20
)

// parse parses metadata. It returns an error if the table cannot be published to.
func parse(raw []byte) (*metadata, error) {
	m := new(metadata)
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, err
	}
	if m.FormatVersion != formatVersion {
		return nil, fmt.Errorf("the table has version %d of Iceberg's format, not %d", m.FormatVersion, formatVersion)
	}
	if m.columns() == nil {
		return nil, errors.New("it lacks its current schema")
	}
	if m.CurrentSnapshot != nil && *m.CurrentSnapshot == -1 { // how Java spells none
		m.CurrentSnapshot = nil
	}
	if m.CurrentSnapshot != nil && m.head() == nil {
		return nil, errors.New("it lacks its current snapshot")
	}
	return m, nil
}

// newMetadata returns the metadata of a table without rows.
func newMetadata(location string, s *iceberg.Schema) *metadata {
	spec, _ := json.Marshal(whole) // it never fails
	return &metadata{FormatVersion: formatVersion, UUID: uuid.NewString(), Location: location, LastColumn: s.HighestFieldID(),
		Schemas: []*iceberg.Schema{s}, CurrentSchema: s.ID, Specs: []json.RawMessage{spec}, LastPartition: iceberg.PartitionDataIDStart - 1,
		SortOrders: json.RawMessage(`[{"order-id":0,"fields":[]}]`), Snapshots: []*snapshot{}, SnapshotLog: []logged{}}
}

// columns returns the current schema; nil if there is none.
func (m *metadata) columns() *iceberg.Schema {
	for _, s := range m.Schemas {
		if s.ID == m.CurrentSchema {
			return s
		}
	}
	return nil
}

// head returns the current snapshot; nil if there is none.
func (m *metadata) head() *snapshot {
	for _, s := range m.Snapshots {
		if m.CurrentSnapshot != nil && s.ID == *m.CurrentSnapshot {
			return s
		}
	}
	return nil
}

// change is a change of a table's metadata; what is zero stays as it is.
type change struct {
	*table
	schema     *iceberg.Schema
	snapshot   *snapshot // the new current one
	tag        string
	tagged     int64    // the snapshot that the tag names
	untag      []string // tags to remove
	gone       []int64  // snapshots to remove
	properties map[string]string
}

// apply returns the metadata after the change, as a catalog would make it.
func (c *change) apply() *metadata {
	m := *c.meta
	m.Schemas, m.Snapshots = slices.Clone(m.Schemas), slices.Clone(m.Snapshots)
	m.Refs, m.Properties = maps.Collect(maps.All(m.Refs)), maps.Collect(maps.All(m.Properties))
	m.LastUpdated = max(m.LastUpdated, time.Now().UnixMilli()) // the clock that last changed the table may be ahead
	if c.schema != nil {
		m.Schemas, m.CurrentSchema = append(m.Schemas, c.schema), c.schema.ID
		m.LastColumn = max(m.LastColumn, c.schema.HighestFieldID())
	}
	if s := c.snapshot; s != nil {
		m.Snapshots, m.LastSequenceNumber, m.CurrentSnapshot = append(m.Snapshots, s), s.SequenceNumber, &s.ID
		m.Refs[mainBranch] = ref{s.ID, "branch"}
		m.SnapshotLog = append(slices.Clone(m.SnapshotLog), logged{Snapshot: s.ID, Timestamp: s.Timestamp})
	}
	if c.tag != "" {
		m.Refs[c.tag] = ref{c.tagged, "tag"}
	}
	for _, name := range c.untag {
		delete(m.Refs, name)
	}
	has := func(id int64) bool {
		return slices.ContainsFunc(m.Snapshots, func(s *snapshot) bool { return s.ID == id })
	}
	m.Snapshots = slices.DeleteFunc(m.Snapshots, func(s *snapshot) bool { return slices.Contains(c.gone, s.ID) })
	for i := len(m.SnapshotLog) - 1; i >= 0; i-- { // all entries before a gap go, too
		if !has(m.SnapshotLog[i].Snapshot) {
			m.SnapshotLog = m.SnapshotLog[i+1:]
			break
		}
	}
	maps.Copy(m.Properties, c.properties)
	return &m
}

// updates returns the change as Iceberg's REST protocol spells it.
func (c *change) updates() (out []map[string]any) {
	const lastAdded = -1
	add := func(action string, members map[string]any) {
		members["action"] = action
		out = append(out, members)
	}
	if c.schema != nil {
		add("add-schema", map[string]any{"schema": c.schema, "last-column-id": max(c.meta.LastColumn, c.schema.HighestFieldID())})
		add("set-current-schema", map[string]any{"schema-id": lastAdded})
	}
	if c.snapshot != nil {
		add("add-snapshot", map[string]any{"snapshot": c.snapshot})
		add("set-snapshot-ref", map[string]any{"ref-name": mainBranch, "type": "branch", "snapshot-id": c.snapshot.ID})
	}
	if c.tag != "" {
		add("set-snapshot-ref", map[string]any{"ref-name": c.tag, "type": "tag", "snapshot-id": c.tagged})
	}
	for _, name := range c.untag {
		add("remove-snapshot-ref", map[string]any{"ref-name": name})
	}
	for _, id := range c.gone { // servers before Iceberg 1.9 accept one snapshot per update
		add("remove-snapshots", map[string]any{"snapshot-ids": []int64{id}})
	}
	if len(c.properties) > 0 {
		add("set-properties", map[string]any{"updates": c.properties})
	}
	return out
}

// UseError means that the options are wrong.
type UseError struct{ What string }

func (e *UseError) Error() string { return e.What }

// tableError means that a table at the destination cannot be published to.
type tableError struct{ what, hint string }

func (e *tableError) Error() string { return e.what }

// Hint returns advice for the operator.
func (e *tableError) Hint() string { return e.hint }

func broken(format string, args ...any) error {
	return &tableError{fmt.Sprintf(format, args...), "drop that table in its catalog, or remove its folder, and publish again"}
}

func foreign(format string, args ...any) error {
	return &tableError{"another warehouse published it: " + fmt.Sprintf(format, args...),
		"nothing was changed there; publish to another place, or remove that publication's tables and files first"}
}
