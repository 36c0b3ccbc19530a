// Package layout defines the layout of a warehouse: it makes and parses every name on disk, and it
// reads manifests.
//
// The writer (internal/sink) and the readers (internal/analytics) both use it, so each name and
// each field of the manifest is spelled once. It never writes, and it opens no Parquet file.
// FORMAT.md next to this file is the specification.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Names at the top of a warehouse.
const (
	CurrentName   = "current"         // symbolic link to the newest committed snapshot
	SnapshotsName = "snapshots"       // one folder per snapshot
	JournalName   = "journal"         // fetched, not yet committed
	LockName      = "lock"            // empty: locked by the writer
	StateName     = "state.json"      // the current or last writer, and runs without a row
	RequestsName  = "requests"        // recent requests, for the budget of the next run
	MaskKeyName   = "mask.key"        // secret key of the hashes that replace masked values
	VerdictName   = "verified.json"   // result of the last verification, for status
	AlertsName    = "alerts.json"     // which alerts are running, and what is still to be sent
	NewAlertsName = "alerts.json.new" // its replacement in the making
	AlertLockName = "alerts.lock"     // held by the process that evaluates the rules of alerts
	ManifestName  = "manifest.json"
	PinsName      = "pins"              // the catalogs through which other programs read snapshots
	PartsName     = "parts"             // recordings being downloaded
	RunsFile      = "runs/runs.parquet" // inside a snapshot
)

// tempPrefix starts the name of every unfinished file or folder. Leftovers of a crash are removed.
const tempPrefix = ".tmp-"

const forgottenDir = "forgotten"

var (
	snapshotRE  = regexp.MustCompile(`^[0-9]{6,18}$`)
	tempRE      = regexp.MustCompile(`^\.tmp-(current|state\.json|mask\.key|verified\.json|deletions\.json|[0-9]{6,18})-[0-9a-f]{16}$`)
	dataRE      = regexp.MustCompile(`^(?:([0-9]{4}-[0-9]{2}(?:-[0-9]{2})?)\.)?([0-9a-f]{16})\.parquet$`)
	forgottenRE = regexp.MustCompile(`^forgotten/[0-9a-f]{16}\.json$`)
	segmentRE   = regexp.MustCompile(`^([0-9]{6,18})\.zst$`)
	runRE       = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)
)

// SnapshotName returns the folder name of snapshot n, as in "000042".
func SnapshotName(n int64) string { return fmt.Sprintf("%06d", n) }

// ParseSnapshotName returns the number of a snapshot's folder name.
func ParseSnapshotName(name string) (n int64, ok bool) {
	if !snapshotRE.MatchString(name) {
		return 0, false
	}
	n, err := strconv.ParseInt(name, 10, 64)
	return n, err == nil && SnapshotName(n) == name
}

// TempName returns the temporary name for target (CurrentName, StateName, MaskKeyName, VerdictName, DeletionsName, or a
// snapshot's folder name); id is 16 hex digits.
func TempName(target, id string) string { return tempPrefix + target + "-" + id }

// IsTempName reports whether TempName made name.
func IsTempName(name string) bool { return tempRE.MatchString(name) }

// DataFile returns the path inside a snapshot of a table's file for period: a UTC day "2026-11-19",
// a month "2026-11", or "" for a table with a single file. id is 16 hex digits never used before: a
// file, once written, never changes under its name.
func DataFile(table, period, id string) string {
	if period == "" {
		return table + "/" + id + ".parquet"
	}
	return table + "/month=" + period[:7] + "/" + period + "." + id + ".parquet"
}

// ForgottenFile returns the path inside a snapshot of the file of tombstones; id
// is 16 hex digits never used before.
func ForgottenFile(id string) string { return forgottenDir + "/" + id + ".json" }

// IsForgottenFile reports whether ForgottenFile made path.
func IsForgottenFile(path string) bool { return forgottenRE.MatchString(path) }

// ParseDataFile parses the base name of a data file.
func ParseDataFile(base string) (period, id string, ok bool) {
	m := dataRE.FindStringSubmatch(base)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// Day returns the UTC day "2006-01-02" of an instant in ms.
func Day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }

// ArchivePlace returns the address of an archive of recordings as people write it: a folder is a path.
func ArchivePlace(address string) string { return strings.TrimPrefix(address, "file://") }

// SegmentName returns the file name of a journal's n-th segment.
func SegmentName(n int64) string { return fmt.Sprintf("%06d.zst", n) }

// ParseSegmentName returns the number of a journal segment.
func ParseSegmentName(name string) (n int64, ok bool) {
	m := segmentRE.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil && SegmentName(n) == name
}

// RunID returns the id of a run: its start, in UTC to the second, and 8 random hex digits. Run ids
// sort by start.
func RunID(started time.Time, random uint32) string {
	return fmt.Sprintf("%s-%08x", started.UTC().Format("20060102T150405Z"), random)
}

// ParseRunID returns when a run started.
func ParseRunID(id string) (started time.Time, ok bool) {
	if !runRE.MatchString(id) {
		return time.Time{}, false
	}
	t, err := time.Parse("20060102T150405Z", id[:16])
	return t, err == nil
}

// Hold keeps a snapshot, even when superseded, until release is called or the process ends, by a
// shared lock on its manifest. On a file system without locks, it stays for as long as any other.
func (s *Snapshot) Hold() (release func() error) {
	lock := flock.New(filepath.Join(s.Dir, ManifestName), flock.SetFlag(os.O_RDONLY))
	_, _ = lock.TryRLock()
	return lock.Close
}

// InUse reports whether a process of this host holds a lock on a file.
func InUse(path string) bool {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryLock()
	_ = lock.Close()
	return !free && !errors.Is(err, fs.ErrNotExist)
}

// DeletionsName is the file at the top of a warehouse that lists recordings of forgotten calls whose
// files are still to be deleted; it is absent if there are none.
const DeletionsName = "deletions.json"

// Deletions is the content of that file.
type Deletions struct {
	FormatVersion int        `json:"format_version"`
	List          []Deletion `json:"deletions"`
}

// Deletion is the recording of a forgotten call.
type Deletion struct {
	// Snapshot is the first one without the call. Until it is current, the call is not forgotten,
	// and nothing is deleted.
	Snapshot int64  `json:"snapshot"`
	Archive  string `json:"archive"` // as in the manifest
	CallID   string `json:"call_id"`
	// Path is the path in the call's row. It is empty if Start is given: a killed run may have
	// stored a file without a row, which is then where the archive puts recordings of calls that
	// started at Start (ms UTC; 0: no start).
	Path  string `json:"path,omitempty"`
	Start int64  `json:"start,omitempty"`
}

// LakesName is the folder at the top of a warehouse with one file for each place to which it was
// published.
const LakesName = "lakes"

// Lake describes a place to which a warehouse was published, for the receipts of forget.
type Lake struct {
	FormatVersion int       `json:"format_version"`
	To            string    `json:"to"`
	Catalog       string    `json:"catalog,omitempty"`
	Namespace     string    `json:"namespace,omitempty"`
	Snapshot      int64     `json:"snapshot"`     // the last one published
	PublishedAt   time.Time `json:"published_at"` // when that publication finished; it also removes data that the warehouse no longer holds
}

// Name returns the name of the lake's file.
func (l *Lake) Name() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{l.To, l.Catalog, l.Namespace}, "\x00")))
	return hex.EncodeToString(sum[:8]) + ".json"
}
