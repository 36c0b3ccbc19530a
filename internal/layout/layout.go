// Package layout knows where what lies in a warehouse: it makes and parses
// every name on disk, and it reads manifests.
//
// It is the one place that both the writer (internal/sink) and the readers
// (internal/analytics) look into, so that a name or a field of the manifest is
// spelled once. It never writes, and it opens no Parquet file. FORMAT.md
// beside this file is the specification.
package layout

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Names at the top of a warehouse.
const (
	CurrentName   = "current"       // symbolic link to the newest committed snapshot
	SnapshotsName = "snapshots"     // one folder per snapshot
	JournalName   = "journal"       // fetched, not yet committed
	LockName      = "lock"          // who writes, since when, and the budget lately spent
	MaskKeyName   = "mask.key"      // key of the hashes that masked values are; nobody else's business
	VerdictName   = "verified.json" // what the last verification found, for status
	ManifestName  = "manifest.json"
	RunsFile      = "runs/runs.parquet" // inside a snapshot
)

// tempPrefix starts the name of everything that is being made; whatever has
// it after a crash is swept.
const tempPrefix = ".tmp-"

const forgottenDir = "forgotten"

var (
	snapshotRE  = regexp.MustCompile(`^[0-9]{6,18}$`)
	tempRE      = regexp.MustCompile(`^\.tmp-(current|mask\.key|verified\.json|[0-9]{6,18})-[0-9a-f]{16}$`)
	dataRE      = regexp.MustCompile(`^(?:([0-9]{4}-[0-9]{2}(?:-[0-9]{2})?)\.)?([0-9a-f]{16})\.parquet$`)
	forgottenRE = regexp.MustCompile(`^forgotten/[0-9a-f]{16}\.txt$`)
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

// TempName returns the name under which target (CurrentName, MaskKeyName, VerdictName, or
// a snapshot's folder name) is made; id is 16 hex digits.
func TempName(target, id string) string { return tempPrefix + target + "-" + id }

// IsTempName reports whether name is one that TempName made.
func IsTempName(name string) bool { return tempRE.MatchString(name) }

// DataFile returns the path inside a snapshot of a table's file for period, a
// UTC day "2026-11-19" or month "2026-11"; "" is that of a table that has one file. id is
// 16 hex digits never used before: a file, once written, never changes under its name.
func DataFile(table, period, id string) string {
	if period == "" {
		return table + "/" + id + ".parquet"
	}
	return table + "/month=" + period[:7] + "/" + period + "." + id + ".parquet"
}

// ForgottenFile returns the path inside a snapshot of the file of tombstones; id
// is 16 hex digits never used before.
func ForgottenFile(id string) string { return forgottenDir + "/" + id + ".txt" }

// IsForgottenFile reports whether path is one that ForgottenFile made.
func IsForgottenFile(path string) bool { return forgottenRE.MatchString(path) }

// ParseDataFile splits the base name of a data file.
func ParseDataFile(base string) (period, id string, ok bool) {
	m := dataRE.FindStringSubmatch(base)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// Day returns the UTC day "2006-01-02" of an instant in ms.
func Day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }

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

// RunID names a run: when it started, in UTC to the second, and 8 random hex
// digits. Sorting run ids sorts runs by their start.
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
