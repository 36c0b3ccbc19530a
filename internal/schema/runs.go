package schema

import "bytes"

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

// cells returns pointers to the run's values, in the order of Runs.Columns.
func (r *Run) cells() []any {
	return []any{
		&r.ID, &r.StartedAt, &r.EndedAt, &r.Outcome, &r.Error, &r.Version,
		&r.Requests, &r.PageRequests, &r.DetailRequests, &r.Retries, &r.RateLimited, &r.ServerErrors,
		&r.NetworkErrors, &r.Pages, &r.CallsListed, &r.CallsNew, &r.CallsChanged, &r.CallsSettled,
		&r.CallsPending, &r.CallsMissing, &r.CallsSetAside, &r.Transcripts, &r.Turns, &r.Drift,
		&r.DriftFields, &r.TotalCount, &r.BudgetUsedPercent, &r.Commits,
		&r.Bulk.Requests, &r.Bulk.Transcripts, &r.Bulk.Compared, &r.Bulk.Differing,
		&r.CallsSkipped, &r.Problem, &r.Unverified, &r.RecordingsStored, &r.RecordingsDue, &r.Redacted,
	}
}

// Row returns the run's row of the table runs.
func (r *Run) Row() Row {
	row := make(Row, len(Runs.Columns))
	for i, cell := range r.cells() {
		number := LongValue
		if Runs.Columns[i].Type == Timestamp {
			number = MillisValue
		}
		switch v := cell.(type) {
		case *string:
			row[i] = TextValue(orNil(*v))
			if Runs.Columns[i].Required {
				row[i] = TextValue([]byte(*v))
			}
		case *[]byte:
			row[i] = TextValue(*v)
		case *int64:
			row[i] = number(Some(*v))
		case *Opt[int64]:
			row[i] = number(*v)
		}
	}
	return row
}

// Set fills the run from a row of runs. The run does not alias the row.
func (r *Run) Set(row Row) {
	for i, cell := range r.cells() {
		number := LongOf
		if Runs.Columns[i].Type == Timestamp {
			number = MillisOf
		}
		switch v := cell.(type) {
		case *string:
			*v = string(TextOf(row[i]))
		case *[]byte:
			*v = bytes.Clone(TextOf(row[i]))
		case *int64:
			*v = number(row[i]).V
		case *Opt[int64]:
			*v = number(row[i])
		}
	}
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
