package layout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// FormatVersion is the layout version that this program writes. Every manifest has it, and the
// metadata of every data file under the key FormatKey. Higher versions are rejected.
const FormatVersion = 1

// FormatKey is the key of the format version in a Parquet file's metadata.
const FormatKey = "callhouse.format_version"

// Manifest lists the files of a snapshot. It is written last and covers every other file of its
// snapshot; its own checksum covers the manifest.
type Manifest struct {
	FormatVersion int `json:"format_version"`
	// Checksum is set by Encode.
	Checksum    string    `json:"manifest_sha256"`
	Snapshot    int64     `json:"snapshot"`
	RunID       string    `json:"run_id"`
	CommittedAt time.Time `json:"committed_at"`
	// Watermark is the newest start_at in calls, ms UTC; 0: none.
	Watermark int64 `json:"watermark"`
	// Coverage holds the completely listed spans of start_at and when they were listed: ascending,
	// disjoint. Outside them, calls may be missing.
	Coverage []schema.Span `json:"coverage"`
	// Journal names the journal segments included in this commit. They are removed after the
	// commit; any that a crash leaves behind are removed unread.
	Journal []Segment `json:"journal,omitempty"`
	// Oldest is the lowest allowed snapshot number, 0 for any. Snapshots below it hold forgotten
	// calls and are removed at the next opportunity.
	Oldest int64 `json:"oldest,omitempty"`
	// Forgotten is the file of tombstones; nil if nothing was ever forgotten.
	Forgotten *Forgotten `json:"forgotten,omitempty"`
	// Mask lists the values masked at this commit; nil if nothing was ever masked.
	Mask *Mask `json:"mask,omitempty"`
	// Redaction describes the redaction from this commit on; nil if nothing was ever redacted.
	Redaction *Redaction `json:"redaction,omitempty"`
	// Country is the region in which national telephone numbers are read, such as KR; empty if
	// unset.
	Country string `json:"country,omitempty"`
	// Origin identifies the organisation whose calls these are; nil if not yet known.
	Origin *Origin `json:"origin,omitempty"`
	// Archive is the address of the archive of recordings that was last used by a run; empty if
	// none was.
	Archive string `json:"archive,omitempty"`
	// Lists holds, by resource name, when each of the organisation's lists was last complete.
	Lists map[string]List `json:"lists,omitempty"`
	// Bulk records whether the pages of v2 can be trusted; nil if they were never requested.
	Bulk  *schema.Bulk `json:"bulk,omitempty"`
	Files []File       `json:"files"`
}

// List is the state of a resource's list.
type List struct {
	ListedAt int64 `json:"listed_at"`          // when the last complete listing began, ms UTC
	EmptyAt  int64 `json:"empty_at,omitempty"` // when it was first found empty, still to be confirmed, ms UTC
	// Of holds the list of each parent, by the parent's key, if the resource has a parent. ListedAt
	// is then the latest one.
	Of map[string]List `json:"of,omitempty"`
}

// ListOf returns the state of a resource's list, or of the list of one parent.
func (m *Manifest) ListOf(of *resource.Resource, parent string) List {
	l := m.Lists[of.Name]
	if of.Parent != nil {
		l = l.Of[parent]
	}
	return l
}

// Mask lists the masked values, of which only keyed hashes are stored.
type Mask struct {
	// Key is a hash that identifies the key without revealing it.
	Key    string   `json:"key"`
	Fields []string `json:"fields"`
}

// Redaction describes the personal data that is redacted in texts.
type Redaction struct {
	Kinds []string `json:"kinds"` // empty: redaction has ended
	// Patterns are the custom kinds.
	Patterns []Pattern `json:"patterns,omitempty"`
	// By identifies the recognizers and what they look for.
	By string `json:"by,omitempty"`
	// Periods are the periods whose stored calls were all examined by By, and not written since.
	Periods []string `json:"periods,omitempty"`
	// Service lists the data that a service finds in texts; nil: no service is used.
	Service []string `json:"service,omitempty"`
	// Countries are the regions in which national telephone numbers are read.
	Countries []string `json:"countries,omitempty"`
}

// Pattern is a kind that a regular expression (RE2) recognizes.
type Pattern struct {
	Kind string `json:"kind"`
	Re   string `json:"re"`
}

// After returns r with the periods of the previous entry, if that was made by the same recognizers.
func (r *Redaction) After(was *Redaction) *Redaction {
	if r == nil {
		return nil
	}
	now := *r
	if now.Periods = nil; was != nil && was.By == r.By {
		now.Periods = was.Periods
	}
	return &now
}

// Active reports whether anything is redacted.
func (r *Redaction) Active() bool { return r != nil && len(r.Kinds)+len(r.Patterns)+len(r.Service) > 0 }

// Origin is the last source of a warehouse's calls: a service and a key, which identify the
// organisation without a request.
type Origin struct {
	Service string `json:"service"` // its address, without /v3 and what follows
	Key     string `json:"key"`     // a hash of the API key, which does not reveal the key
}

// Forgotten describes the snapshot's file with keyed hashes of the calls that must not come back.
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
	// MinStart and MaxStart bound start_at (call_start_at) over the rows that have one, ms UTC,
	// both inclusive; null if no row has one.
	MinStart *int64 `json:"min_start"`
	MaxStart *int64 `json:"max_start"`
	// Unsettled counts the rows of a calls file that are neither settled nor expired, and Unstarted
	// those of them without a start. Due counts the rows that are over and wait for their
	// transcript.
	Unsettled int64 `json:"unsettled,omitempty"`
	Unstarted int64 `json:"unstarted,omitempty"`
	// Undated counts the rows of a calls file without a start, settled or not.
	Undated int64 `json:"undated,omitempty"`
	Due     int64 `json:"due,omitempty"`
	// Unsure counts the rows of a calls file whose record was requested in vain, if it is requested
	// again, and Unreadable all whose record cannot be read.
	Unsure     int64 `json:"unsure,omitempty"`
	Unreadable int64 `json:"unreadable,omitempty"`
	// Skipped counts, by kind, the rows of a calls file whose record was not requested because no
	// record of a call of that kind ever had a transcript.
	Skipped map[string]int64 `json:"skipped,omitempty"`
	// Bulk counts the rows of a calls file whose transcript came on a page of v2 and is still to be
	// compared with that of v3.
	Bulk int64 `json:"bulk,omitempty"`
	// UnheldCosts counts the rows with a cost that does not fit in total_cost.
	UnheldCosts int64 `json:"unheld_costs,omitempty"`
	// Unarchived counts the rows of a calls file whose recording is still to be archived, if
	// recordings are archived. OldestUnarchived is the earliest end of such a call, ms UTC.
	Unarchived       int64  `json:"unarchived,omitempty"`
	OldestUnarchived *int64 `json:"oldest_unarchived,omitempty"`
	// Recordings counts the rows of a recordings file by state, and AudioBytes is the size of the
	// stored recordings.
	Recordings map[string]int64 `json:"recordings,omitempty"`
	AudioBytes int64            `json:"audio_bytes,omitempty"`
	// Country is the region in which the national numbers of a file of calls or customers were read
	// when it was written; empty if none.
	Country string `json:"country,omitempty"`
	// OldestUnsettled is the lowest start_at among the unsettled (first_seen_at if start_at is
	// null). NextExpiry is when the first of them expires. Both are ms UTC.
	OldestUnsettled *int64 `json:"oldest_unsettled,omitempty"`
	NextExpiry      *int64 `json:"next_expiry,omitempty"`
}

// Part names the part that a file belongs to: the period of its calls, or else its table. The files
// of one part are useless without each other.
func (f *File) Part() string {
	if f.Period == "" || !among(resource.Tables, f.Table) {
		return f.Table
	}
	return f.Period
}

// FileOf returns the file of a table and period, or nil.
func (m *Manifest) FileOf(table, period string) *File {
	for i := range m.Files {
		if f := &m.Files[i]; f.Table == table && f.Period == period {
			return f
		}
	}
	return nil
}

// BytesOf returns the total size of a period's files.
func (m *Manifest) BytesOf(period string) (n int64) {
	for _, t := range schema.CallTables {
		if f := m.FileOf(t.Name, period); f != nil {
			n += f.Bytes
		}
	}
	return n
}

// FilesOf returns the files of a table in the manifest's order, which is by period.
func (m *Manifest) FilesOf(table string) []*File {
	var out []*File
	for i := range m.Files {
		if m.Files[i].Table == table {
			out = append(out, &m.Files[i])
		}
	}
	return out
}

// NewestFirst returns the files of a table, last period first. DuckDB reads files in the listed order:
// once ORDER BY start_at DESC LIMIT n has its n rows, it skips those that are older.
func (m *Manifest) NewestFirst(table string) []*File {
	out := m.FilesOf(table)
	slices.Reverse(out)
	return out
}

// Starts returns the first start of a call, and the last one plus 1 ms.
func (m *Manifest) Starts() (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, f := range m.FilesOf(schema.Calls.Name) {
		if f.MinStart != nil && f.MaxStart != nil {
			lo, hi = min(lo, *f.MinStart), max(hi, *f.MaxStart+1)
		}
	}
	return lo, hi
}

// ListedTo returns the time up to which the list of calls was read; zero if it never was.
func (m *Manifest) ListedTo() time.Time {
	if len(m.Coverage) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(m.Coverage[len(m.Coverage)-1].To)
}

// Gaps returns the spans between the first and last coverage that were never listed.
func (m *Manifest) Gaps() (out []schema.Span) {
	for i := 1; i < len(m.Coverage); i++ {
		if last := m.Coverage[i-1].To; last < m.Coverage[i].From {
			out = append(out, schema.Span{From: last, To: m.Coverage[i].From})
		}
	}
	return out
}

// ReadElsewhere counts the calls whose national numbers were read in another country than the manifest's.
func (m *Manifest) ReadElsewhere() (n int64) {
	for _, f := range m.FilesOf(schema.Calls.Name) {
		if f.Country != m.Country {
			n += f.Rows
		}
	}
	return n
}

// Rows returns the number of rows of a table.
func (m *Manifest) Rows(table string) int64 {
	var n int64
	for _, f := range m.FilesOf(table) {
		n += f.Rows
	}
	return n
}

// Recordings are figures of the archive of recordings.
type Recordings struct {
	Due    int64            // still to be archived
	Oldest *int64           // the earliest end of a call that is due, ms UTC
	States map[string]int64 // rows by state
	Bytes  int64            // of those stored
}

// Recordings returns the figures of the archive of recordings.
func (m *Manifest) Recordings() Recordings {
	out := Recordings{States: map[string]int64{}}
	for i := range m.Files {
		f := &m.Files[i]
		switch {
		case f.Table == schema.Recordings.Name:
			out.Bytes += f.AudioBytes
			for state, n := range f.Recordings {
				out.States[state] += n
			}
		case f.Table != schema.Calls.Name:
		default:
			out.Due += f.Unarchived
			if at := f.OldestUnarchived; at != nil && (out.Oldest == nil || *at < *out.Oldest) {
				out.Oldest = at
			}
		}
	}
	return out
}

// VersionError means that a newer callhouse wrote the snapshot.
type VersionError struct{ Got int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the warehouse has format version %d, this version reads up to %d: upgrade callhouse",
		e.Got, FormatVersion)
}

// The checksum is the value of this member, in the manifest's first lines. It is the SHA-256 of the
// whole file with zeros in its own place.
const (
	checksumMember = `"manifest_sha256": "`
	noChecksum     = "0000000000000000000000000000000000000000000000000000000000000000"
)

// Encode returns the content of the manifest's file, with its checksum.
func (m *Manifest) Encode() ([]byte, error) {
	sealed := *m
	sealed.Checksum = noChecksum
	raw, err := json.MarshalIndent(&sealed, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	raw = append(raw, '\n')
	at := bytes.Index(raw, []byte(checksumMember)) + len(checksumMember)
	sum := sha256.Sum256(raw)
	hex.Encode(raw[at:], sum[:])
	return raw, nil
}

// checksum compares a manifest with the checksum in it, if there is one.
func checksum(raw []byte) (there bool, err error) {
	before, rest, there := bytes.Cut(raw, []byte(checksumMember))
	switch {
	case !there:
		return false, nil
	case len(rest) < len(noChecksum):
		return true, errors.New("it is cut short")
	}
	h := sha256.New()
	h.Write(before)
	h.Write([]byte(checksumMember + noChecksum))
	h.Write(rest[len(noChecksum):])
	if hex.EncodeToString(h.Sum(nil)) != string(rest[:len(noChecksum)]) {
		return true, errors.New("its checksum is not that of its content")
	}
	return true, nil
}

// ParseManifest parses a manifest. Nothing in a manifest with a wrong checksum can be trusted, not
// even its format version. For an intact manifest of a later format ParseManifest returns a
// *VersionError before it reads anything else.
func ParseManifest(raw []byte) (*Manifest, error) {
	sealed, err := checksum(raw)
	if err != nil {
		return nil, err
	}
	var v struct {
		FormatVersion int `json:"format_version"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if v.FormatVersion > FormatVersion {
		return nil, &VersionError{Got: v.FormatVersion}
	}
	if v.FormatVersion < 1 {
		return nil, errors.New("it has no format version")
	}
	if !sealed {
		return nil, errors.New("it has no checksum")
	}
	m := new(Manifest)
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("it is not a manifest: %w", err)
	}
	return m, nil
}

var tableRE = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Contradictions lists where a manifest contradicts itself, the number n of its snapshot's folder,
// or the rules for names. Without contradictions its paths are safe to open: none leads outside the
// snapshot.
func (m *Manifest) Contradictions(n int64) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n != m.Snapshot {
		add("it is of snapshot %d, and lies in the folder of snapshot %d", m.Snapshot, n)
	}
	if m.Oldest < 0 || m.Oldest > m.Snapshot {
		add("the oldest snapshot that may be there is said to be %d", m.Oldest)
	}
	for _, s := range m.Journal {
		if _, ok := ParseRunID(s.Run); !ok || s.Number < 1 {
			add("it names no journal segment: %q %d", s.Run, s.Number)
		}
	}
	if f := m.Forgotten; f != nil && !IsForgottenFile(f.Path) {
		add("%q is not the path of a file of tombstones", f.Path)
	}
	paths, periods := map[string]bool{}, map[[2]string]bool{}
	for i := range m.Files {
		f := &m.Files[i]
		if what := f.misnamed(); what != "" {
			add("%s: %s", f.Path, what)
		}
		if paths[f.Path] {
			add("it names %s twice", f.Path)
		}
		if periods[[2]string{f.Table, f.Period}] {
			add("it names two files of %s for %s", f.Table, f.Period)
		}
		paths[f.Path], periods[[2]string{f.Table, f.Period}] = true, true
	}
	return out
}

// misnamed describes the fault in a file's table, path, period or figures; empty if there is none.
func (f *File) misnamed() string {
	if f.Bytes < 0 || f.Rows < 0 {
		return "its size is negative"
	}
	if f.Table == schema.Runs.Name {
		if f.Path != RunsFile || f.Period != "" {
			return "it is not the path of the table runs"
		}
		return ""
	}
	period, id, ok := ParseDataFile(path.Base(f.Path))
	switch {
	case !tableRE.MatchString(f.Table):
		return "there is no table " + strconv.Quote(f.Table)
	case !ok || f.Path != DataFile(f.Table, period, id):
		return "it is not the path of a data file"
	case period != f.Period, among(resource.Tables, f.Table) && among(schema.CallTables, f.Table) != (period != ""):
		return "its period is given as " + strconv.Quote(f.Period)
	}
	return ""
}

// among reports whether one of the tables has the name.
func among(tables []*schema.Table, name string) bool {
	return slices.ContainsFunc(tables, func(t *schema.Table) bool { return t.Name == name })
}
