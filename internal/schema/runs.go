package schema

import (
	"bytes"

	"github.com/parquet-go/parquet-go"
)

// Run is one row of the table runs. Timestamps are ms since 1970 UTC.
type Run struct {
	ID                string
	StartedAt         int64
	EndedAt           Opt[int64]
	Outcome           string
	Error             string // empty for null
	Problem           string // one word for Error; empty for null
	Version           string // empty for null
	Requests          int64
	PageRequests      int64
	DetailRequests    int64
	Retries           int64
	RateLimited       int64
	ServerErrors      int64
	NetworkErrors     int64
	Pages             int64
	CallsListed       int64
	CallsNew          int64
	CallsChanged      int64
	CallsSettled      int64
	CallsPending      int64
	CallsMissing      int64
	CallsSetAside     int64
	Transcripts       int64
	Turns             int64
	Drift             int64
	DriftFields       []byte // JSON object or nil
	TotalCount        Opt[int64]
	BudgetUsedPercent Opt[int64] // 1/10,000 percent
	Commits           int64
	Bulk              BulkCounts
	CallsSkipped      int64
	Unverified        Opt[int64] // after the run
	RecordingsStored  int64
	RecordingsDue     Opt[int64] // after the run; null without an archive
	Redacted          []byte     // JSON object or nil
}

// BulkCounts counts a run's use of the pages of v2.
type BulkCounts struct {
	Requests    int64
	Transcripts int64 // used
	Compared    int64 // with those of v3
	Differing   int64
}

func (b *BulkCounts) all() [4]*int64 {
	return [...]*int64{&b.Requests, &b.Transcripts, &b.Compared, &b.Differing}
}

// counts returns pointers to the run's plain counts, in the order of Runs.Columns, from the column
// requests to the column drift.
func (r *Run) counts() [18]*int64 {
	return [...]*int64{
		&r.Requests, &r.PageRequests, &r.DetailRequests, &r.Retries, &r.RateLimited, &r.ServerErrors,
		&r.NetworkErrors, &r.Pages, &r.CallsListed, &r.CallsNew, &r.CallsChanged, &r.CallsSettled,
		&r.CallsPending, &r.CallsMissing, &r.CallsSetAside, &r.Transcripts, &r.Turns, &r.Drift,
	}
}

// Positions in Runs.Columns around the plain counts.
const (
	firstCount = 6
	lastCount  = 23
	firstBulk  = 28
	skipped    = 32
	problem    = 33
	unverified = 34
	recorded   = 35
)

// Row returns the run's row of the table runs.
func (r *Run) Row() Row {
	row := Row{
		TextValue([]byte(r.ID)),
		InstantValue(r.StartedAt),
		MillisValue(r.EndedAt),
		TextValue([]byte(r.Outcome)),
		TextValue(orNil(r.Error)),
		TextValue(orNil(r.Version)),
	}
	for _, n := range r.counts() {
		row = append(row, parquet.Int64Value(*n))
	}
	row = append(row, TextValue(r.DriftFields), LongValue(r.TotalCount), LongValue(r.BudgetUsedPercent), parquet.Int64Value(r.Commits))
	for _, n := range r.Bulk.all() {
		row = append(row, parquet.Int64Value(*n))
	}
	return append(row, parquet.Int64Value(r.CallsSkipped), TextValue(orNil(r.Problem)),
		LongValue(r.Unverified), parquet.Int64Value(r.RecordingsStored), LongValue(r.RecordingsDue),
		TextValue(r.Redacted))
}

// Set fills the run from a row of runs. The run does not alias the row.
func (r *Run) Set(row Row) {
	text := func(col int) string { return string(TextOf(row[col])) }
	*r = Run{
		ID: text(0), StartedAt: MillisOf(row[1]).V, EndedAt: MillisOf(row[2]), Outcome: text(3), Error: text(4), Version: text(5),
		DriftFields: bytes.Clone(TextOf(row[24])), TotalCount: LongOf(row[25]), BudgetUsedPercent: LongOf(row[26]), Commits: LongOf(row[27]).V,
	}
	for i, n := range r.counts() {
		*n = LongOf(row[firstCount+i]).V
	}
	for i, n := range r.Bulk.all() {
		*n = LongOf(row[firstBulk+i]).V
	}
	r.CallsSkipped, r.Problem = LongOf(row[skipped]).V, text(problem)
	r.Unverified = LongOf(row[unverified])
	r.RecordingsStored, r.RecordingsDue = LongOf(row[recorded]).V, LongOf(row[recorded+1])
	r.Redacted = bytes.Clone(TextOf(row[recorded+2]))
}

func orNil(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// Outcomes of a run: the words of runs.outcome.
const (
	OutcomeRunning     = "running"     // in progress, with commits made along the way
	OutcomeDone        = "done"        // exit code 0
	OutcomeFailed      = "failed"      // 1: it could not continue; what it had was committed
	OutcomeIncomplete  = "incomplete"  // 3: a deadline, or calls that failed
	OutcomeInterrupted = "interrupted" // 130
	OutcomeKilled      = "killed"      // it never ended; the next run found its traces
	OutcomeFollowing   = "following"   // not a run: extract follow is running, or was killed
	OutcomeFollowed    = "followed"    // not a run: extract follow has ended normally
	OutcomeRepaired    = "repaired"    // not a run: extract repair replaced damaged data
	OutcomeArchived    = "archived"    // not a run: extract recordings archived recordings
	OutcomeRolledBack  = "rolled back" // not a run: extract rollback went back to an older snapshot
)

// IsRun reports whether a row with this outcome is a run. Rollback, repair, follow and recordings
// have rows as well.
func IsRun(outcome string) bool {
	switch outcome {
	case OutcomeArchived, OutcomeRolledBack, OutcomeRepaired, OutcomeFollowing, OutcomeFollowed:
		return false
	}
	return true
}
