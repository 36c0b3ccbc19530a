package layout

import (
	"encoding/json"
	"fmt"
	"time"

	"callhouse/internal/schema"
)

// FormatVersion is the version of the warehouse's layout that this program
// writes. It stands in every manifest and in every data file's metadata under
// the key FormatKey. A higher one is refused, a lower one is read.
const FormatVersion = 2

// FormatKey is the key of the format version in a Parquet file's metadata.
const FormatKey = "callhouse.format_version"

// Manifest lists what a snapshot is made of. It is written last, and it covers
// every other file of its snapshot; nothing covers the manifest itself.
type Manifest struct {
	FormatVersion int       `json:"format_version"`
	Snapshot      int64     `json:"snapshot"`
	RunID         string    `json:"run_id"`
	CommittedAt   time.Time `json:"committed_at"`
	// Watermark is the newest start_at in calls, ms UTC; 0 where there is none.
	Watermark int64 `json:"watermark"`
	// Coverage says which spans of start_at were listed completely, and when:
	// ascending, disjoint. What lies in no span may lack calls.
	Coverage []schema.Span `json:"coverage"`
	// Journal names the journal's segments that this commit took in. They are
	// removed after it; a crash in between leaves some, to be removed unread.
	Journal []Segment `json:"journal,omitempty"`
	// Oldest is the lowest number that a snapshot may have, 0 for any: those
	// below held calls that were forgotten, and are removed at the next chance.
	Oldest int64 `json:"oldest,omitempty"`
	// Forgotten is the file of tombstones; nil: nothing was ever forgotten.
	Forgotten *Forgotten `json:"forgotten,omitempty"`
	// Mask says what was masked when this was committed; nil: nothing ever was.
	Mask  *Mask  `json:"mask,omitempty"`
	Files []File `json:"files"`
}

// Mask tells of the values that only keyed hashes are kept of.
type Mask struct {
	// Key is the hash by which the key is known again; it does not tell the key.
	Key    string   `json:"key"`
	Fields []string `json:"fields"`
}

// Forgotten describes the file of a snapshot that knows, by keyed hashes, which
// calls must not come back.
type Forgotten struct {
	Path   string `json:"path"` // inside the snapshot
	Calls  int64  `json:"calls"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Segment is one file of the journal.
type Segment struct {
	Run    string `json:"run"`
	Number int64  `json:"number"`
}

// File is one data file of a snapshot.
type File struct {
	Table  string `json:"table"`
	Path   string `json:"path"` // inside the snapshot, with slashes
	Period string `json:"period,omitempty"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// MinStart and MaxStart bound start_at (call_start_at) over the rows that
	// have one, ms UTC, both inclusive; null where no row has one.
	MinStart *int64 `json:"min_start"`
	MaxStart *int64 `json:"max_start"`
	// Of the rows of a calls file: how many are neither settled nor expired,
	// how many of those have no start yet, and how many are over and wait for
	// their transcript.
	Unsettled int64 `json:"unsettled,omitempty"`
	Unstarted int64 `json:"unstarted,omitempty"`
	Due       int64 `json:"due,omitempty"`
	// OldestUnsettled is the lowest start_at among the unsettled (where it is
	// null, first_seen_at), and NextExpiry when the first of them expires, ms UTC.
	OldestUnsettled *int64 `json:"oldest_unsettled,omitempty"`
	NextExpiry      *int64 `json:"next_expiry,omitempty"`
}

// FilesOf returns the files of a table, in the manifest's order: by period.
func (m *Manifest) FilesOf(table string) []*File {
	var out []*File
	for i := range m.Files {
		if m.Files[i].Table == table {
			out = append(out, &m.Files[i])
		}
	}
	return out
}

// Rows returns the number of rows of a table.
func (m *Manifest) Rows(table string) int64 {
	var n int64
	for _, f := range m.FilesOf(table) {
		n += f.Rows
	}
	return n
}

// VersionError says that a snapshot was written by a newer callhouse.
type VersionError struct{ Got int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the warehouse has format version %d, this program reads up to %d: upgrade callhouse",
		e.Got, FormatVersion)
}

// ParseManifest parses a manifest. It returns a *VersionError for one of a
// later format before it looks at anything else in it.
func ParseManifest(raw []byte) (*Manifest, error) {
	var v struct {
		FormatVersion int `json:"format_version"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("parse manifest: %w", err)
	}
	if v.FormatVersion > FormatVersion {
		return nil, &VersionError{Got: v.FormatVersion}
	}
	if v.FormatVersion < 1 {
		return nil, fmt.Errorf("parse manifest: no format version in it")
	}
	m := new(Manifest)
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("parse manifest: %w", err)
	}
	return m, nil
}
