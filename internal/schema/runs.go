package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// Run is one row of the table runs. Timestamps are ms since 1970 UTC.
type Run struct {
	ID                string
	StartedAt         int64
	EndedAt           Opt[int64]
	Outcome           string
	Error             string // empty: null
	Version           string // empty: null
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
}

// counts returns where the run's plain counts are: one after the other in
// Runs.Columns from the column requests to the column drift.
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
)

// AppendRunRow appends the run's row: one value for each of Runs.Columns.
func AppendRunRow(dst parquet.Row, r *Run) parquet.Row {
	dst = append(dst,
		requiredText([]byte(r.ID), 0),
		requiredInstant(r.StartedAt, 1),
		instantValue(r.EndedAt, 2),
		requiredText([]byte(r.Outcome), 3),
		text(orNil(r.Error), 4),
		text(orNil(r.Version), 5))
	for i, n := range r.counts() {
		dst = append(dst, requiredInt64(*n, firstCount+i))
	}
	return append(dst,
		text(r.DriftFields, 24),
		int64Value(r.TotalCount, 25),
		int64Value(r.BudgetUsedPercent, 26),
		requiredInt64(r.Commits, 27))
}

// Run fills run from a row of runs. Nothing in it aliases the row.
func (r *RowReader) Run(row parquet.Row, run *Run) error {
	*run = Run{}
	for _, v := range row {
		col, err := r.column(v)
		if err != nil {
			return err
		}
		if col < 0 || v.IsNull() {
			continue
		}
		switch {
		case col == 0:
			run.ID = string(v.ByteArray())
		case col == 1:
			run.StartedAt = r.instant(v).V
		case col == 2:
			run.EndedAt = r.instant(v)
		case col == 3:
			run.Outcome = string(v.ByteArray())
		case col == 4:
			run.Error = string(v.ByteArray())
		case col == 5:
			run.Version = string(v.ByteArray())
		case col >= firstCount && col <= lastCount:
			*run.counts()[col-firstCount] = v.Int64()
		case col == 24:
			run.DriftFields = append([]byte{}, v.ByteArray()...)
		case col == 25:
			run.TotalCount = Some(v.Int64())
		case col == 26:
			run.BudgetUsedPercent = Some(v.Int64())
		case col == 27:
			run.Commits = v.Int64()
		default:
			return fmt.Errorf("read runs: no column %d", col)
		}
	}
	return nil
}

func orNil(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}
