package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
)

// Metadata is the metadata of a table in Iceberg's format, versions 2 and 3. Unknown members, such
// as statistics that engines add, are kept unchanged. (The library's own package for it includes an
// expression engine, which takes a tenth of a second at each start of the program, and 35 MB.)
type Metadata struct {
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
	SortOrders         []json.RawMessage `json:"sort-orders"`
	DefaultSortOrder   int               `json:"default-sort-order-id"`
	Properties         map[string]string `json:"properties"`
	CurrentSnapshot    *int64            `json:"current-snapshot-id,omitempty"`
	Snapshots          []*Snapshot       `json:"snapshots"`
	SnapshotLog        []logged          `json:"snapshot-log"`
	MetadataLog        []logged          `json:"metadata-log"`
	Refs               map[string]Ref    `json:"refs"`
	NextRow            *int64            `json:"next-row-id,omitempty"` // only in version 3, in which rows are numbered

	Rest map[string]json.RawMessage `json:"-"`
}

// Snapshot is a state of a table: the files in a list of manifests.
type Snapshot struct {
	ID             int64             `json:"snapshot-id"`
	Parent         *int64            `json:"parent-snapshot-id,omitempty"`
	SequenceNumber int64             `json:"sequence-number"`
	Timestamp      int64             `json:"timestamp-ms"`
	ManifestList   string            `json:"manifest-list"`
	Summary        map[string]string `json:"summary,omitempty"`
	Schema         *int              `json:"schema-id,omitempty"`
	FirstRow       *int64            `json:"first-row-id,omitempty"` // only in version 3, like the next:
	AddedRows      *int64            `json:"added-rows,omitempty"`   // number of rows numbered from there on
}

// logged is an entry in the log of current snapshots or of metadata files.
type logged struct {
	File      string `json:"metadata-file,omitempty"`
	Snapshot  int64  `json:"snapshot-id,omitempty"`
	Timestamp int64  `json:"timestamp-ms"`
}

// Ref is a branch or a tag.
type Ref struct {
	Snapshot     int64  `json:"snapshot-id"`
	Type         string `json:"type"`
	MinSnapshots *int   `json:"min-snapshots-to-keep,omitempty"`
	MaxAge       *int64 `json:"max-snapshot-age-ms,omitempty"`
	MaxRefAge    *int64 `json:"max-ref-age-ms,omitempty"`
}

const (
	FormatVersion = 2 // of the tables that we create
	newestVersion = 3 // to which others may have upgraded our tables

	MainBranch = "main"
	lowestID   = 999 // of a partition's field, less one
)

// Parse parses metadata. It returns an error for other versions of the format.
func Parse(raw []byte) (*Metadata, error) {
	m := new(Metadata)
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, err
	}
	if m.FormatVersion != FormatVersion && m.FormatVersion != newestVersion {
		return nil, fmt.Errorf("the table has version %d of Iceberg's format; only versions %d and %d are supported",
			m.FormatVersion, FormatVersion, newestVersion)
	}
	if m.FormatVersion == newestVersion && m.NextRow == nil {
		return nil, errors.New("it lacks next-row-id")
	}
	if m.CurrentSnapshot != nil && *m.CurrentSnapshot == -1 { // how Java spells none
		m.CurrentSnapshot = nil
	}
	if m.Columns() == nil {
		return nil, errors.New("it lacks its current schema")
	}
	if m.CurrentSnapshot != nil && m.Head() == nil {
		return nil, errors.New("it lacks its current snapshot")
	}
	m.own()
	err := json.Unmarshal(raw, &m.Rest)
	if keys := m.Rest["encryption-keys"]; len(keys) > 0 && string(keys) != "[]" && string(keys) != "null" {
		return nil, errors.New("the table is encrypted")
	}
	delete(m.Rest, "current-snapshot-id") // omitted if there is none
	return m, err
}

// own gives the metadata lists and maps of its own, so that empty ones are written as empty, not as
// null.
func (m *Metadata) own() {
	m.Schemas, m.Specs, m.SortOrders = append([]*iceberg.Schema{}, m.Schemas...), append([]json.RawMessage{}, m.Specs...),
		append([]json.RawMessage{}, m.SortOrders...)
	m.Snapshots, m.SnapshotLog, m.MetadataLog = append([]*Snapshot{}, m.Snapshots...), append([]logged{}, m.SnapshotLog...),
		append([]logged{}, m.MetadataLog...)
	m.Properties = maps.Collect(maps.All(m.Properties))
	m.Refs = maps.Collect(maps.All(m.Refs))
	m.Rest = maps.Collect(maps.All(m.Rest))
}

// MarshalJSON implements json.Marshaler.
func (m *Metadata) MarshalJSON() ([]byte, error) {
	type plain Metadata
	all, known := maps.Collect(maps.All(m.Rest)), map[string]json.RawMessage{}
	raw, err := json.Marshal((*plain)(m))
	if err := errors.Join(err, json.Unmarshal(raw, &known)); err != nil {
		return nil, err
	}
	maps.Copy(all, known)
	return json.Marshal(all)
}

// Columns returns the current schema; nil if there is none.
func (m *Metadata) Columns() *iceberg.Schema {
	for _, s := range m.Schemas {
		if s.ID == m.CurrentSchema {
			return s
		}
	}
	return nil
}

// Head returns the current snapshot; nil if there is none.
func (m *Metadata) Head() *Snapshot {
	if m == nil || m.CurrentSnapshot == nil {
		return nil
	}
	return m.SnapshotOf(*m.CurrentSnapshot)
}

// SnapshotOf returns the snapshot with an id; nil if there is none.
func (m *Metadata) SnapshotOf(id int64) *Snapshot {
	for _, s := range m.Snapshots {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Update is a change of a table's metadata, as sent to a catalog.
type Update struct {
	Action        string                 `json:"action"`
	UUID          string                 `json:"uuid,omitempty"`
	FormatVersion int                    `json:"format-version,omitempty"`
	Location      string                 `json:"location,omitempty"`
	Schema        *iceberg.Schema        `json:"schema,omitempty"`
	LastColumn    int                    `json:"last-column-id,omitempty"` // after the schema is added
	SchemaID      *int                   `json:"schema-id,omitempty"`      // -1: the one that was just added; likewise:
	Spec          *iceberg.PartitionSpec `json:"spec,omitempty"`
	SpecID        *int                   `json:"spec-id,omitempty"`
	SortOrder     *Order                 `json:"sort-order,omitempty"`
	SortOrderID   *int                   `json:"sort-order-id,omitempty"`
	Properties    map[string]string      `json:"updates,omitempty"`
	Snapshot      *Snapshot              `json:"snapshot,omitempty"`
	Ref           string                 `json:"ref-name,omitempty"`
	RefType       string                 `json:"type,omitempty"`
	RefTo         int64                  `json:"snapshot-id,omitempty"`
	Gone          []int64                `json:"snapshot-ids,omitempty"`
}

// Order is an order of rows.
type Order struct {
	ID     int         `json:"order-id"`
	Fields []SortField `json:"fields"`
}

// SortField is a column by which rows are sorted.
type SortField struct {
	Source    int    `json:"source-id"`
	Transform string `json:"transform"`
	Direction string `json:"direction"`
	Nulls     string `json:"null-order"`
}

// LastAdded is the id that refers to the object added by the previous update.
var LastAdded = -1

// Apply returns the metadata after updates at a time, as a catalog would make it. It does not
// change m, whose location is from. The clock that last changed the table may be ahead of this one.
func (m *Metadata) Apply(updates []Update, from string, at time.Time) (*Metadata, error) {
	out := &Metadata{}
	if m != nil {
		*out = *m
	}
	out.own()
	if m != nil {
		out.MetadataLog = append(out.MetadataLog, logged{File: from, Timestamp: m.LastUpdated})
		out.MetadataLog = out.MetadataLog[max(0, len(out.MetadataLog)-PreviousVersions):]
	}
	for _, u := range updates {
		if err := out.change(u); err != nil {
			return nil, err
		}
	}
	out.LastUpdated = max(out.LastUpdated, at.UnixMilli())
	return out, nil
}

// change applies one update.
func (m *Metadata) change(u Update) error {
	switch u.Action {
	case "assign-uuid":
		m.UUID = u.UUID
	case "upgrade-format-version":
		m.FormatVersion = u.FormatVersion
	case "set-location":
		m.Location = u.Location
	case "add-schema":
		m.Schemas, m.LastColumn = append(m.Schemas, u.Schema), max(m.LastColumn, u.Schema.HighestFieldID())
	case "set-current-schema":
		m.CurrentSchema = m.Schemas[len(m.Schemas)-1].ID
	case "add-spec":
		raw, err := json.Marshal(u.Spec)
		if err != nil {
			return err
		}
		m.Specs, m.DefaultSpec, m.LastPartition = append(m.Specs, raw), u.Spec.ID(), max(m.LastPartition, lowestID, u.Spec.LastAssignedFieldID())
	case "set-default-spec": // the one just added
	case "add-sort-order":
		raw, err := json.Marshal(u.SortOrder)
		if err != nil {
			return err
		}
		m.SortOrders, m.DefaultSortOrder = append(m.SortOrders, raw), u.SortOrder.ID
	case "set-default-sort-order":
	case "set-properties":
		maps.Copy(m.Properties, u.Properties)
	case "add-snapshot":
		m.Snapshots, m.LastSequenceNumber, m.LastUpdated = append(m.Snapshots, u.Snapshot), u.Snapshot.SequenceNumber, u.Snapshot.Timestamp
		if m.NextRow != nil {
			next := *m.NextRow + *u.Snapshot.AddedRows
			m.NextRow = &next
		}
	case "set-snapshot-ref":
		m.Refs[u.Ref] = Ref{Snapshot: u.RefTo, Type: u.RefType}
		if u.Ref == MainBranch {
			m.CurrentSnapshot = &u.RefTo
			m.SnapshotLog = append(m.SnapshotLog, logged{Snapshot: u.RefTo, Timestamp: m.LastUpdated})
		}
	case "remove-snapshot-ref":
		delete(m.Refs, u.Ref)
	case "remove-snapshots":
		return m.remove(u.Gone)
	default:
		return fmt.Errorf("unknown update %q", u.Action)
	}
	return nil
}

// remove removes snapshots, and the references to them.
func (m *Metadata) remove(gone []int64) error {
	has := func(id int64) bool { return slices.Contains(gone, id) }
	m.Snapshots = slices.DeleteFunc(m.Snapshots, func(s *Snapshot) bool { return has(s.ID) })
	maps.DeleteFunc(m.Refs, func(_ string, r Ref) bool { return has(r.Snapshot) })
	// All entries of the log before a gap are removed, too.
	for i := len(m.SnapshotLog) - 1; i >= 0; i-- {
		if m.SnapshotOf(m.SnapshotLog[i].Snapshot) == nil {
			m.SnapshotLog = m.SnapshotLog[i+1:]
			break
		}
	}
	for _, name := range []string{"statistics", "partition-statistics"} {
		var all []struct {
			Snapshot int64 `json:"snapshot-id"`
		}
		var raw []json.RawMessage
		if m.Rest[name] == nil {
			continue
		}
		if err := errors.Join(json.Unmarshal(m.Rest[name], &all), json.Unmarshal(m.Rest[name], &raw)); err != nil {
			return err
		}
		remaining := []json.RawMessage{}
		for i := range raw {
			if !has(all[i].Snapshot) {
				remaining = append(remaining, raw[i])
			}
		}
		text, err := json.Marshal(remaining)
		if err != nil {
			return err
		}
		m.Rest[name] = text
	}
	return nil
}
