package schema

import (
	"slices"

	"github.com/parquet-go/parquet-go"
)

// States of a recording: the words of recordings.state.
const (
	RecordingDue      = "due"      // a download failed, or it is not there yet; it is repeated
	RecordingStored   = "stored"   // it is in the archive
	RecordingGone     = "gone"     // the service no longer has it
	RecordingRefused  = "refused"  // the content of its link is not stored
	RecordingWithheld = "withheld" // the caller opted out, or its retention has ended; has a path until its file is deleted
)

// RecordingUndeleted counts withheld recordings that have a path, among the states in a manifest.
const RecordingUndeleted = "undeleted"

// RecordingSomewhere is the path of a withheld recording that may have a file without a row: a run
// may have been killed after storing it.
const RecordingSomewhere = "?"

// RecordingStates are all states.
var RecordingStates = []string{RecordingDue, RecordingStored, RecordingGone, RecordingRefused, RecordingWithheld}

// Recording is the state of a call's recording: a row of the table recordings, and the body of a
// record of [KindRecording]. Unknown numbers and texts are zero.
type Recording struct {
	State      string `json:"state"`
	Bytes      int64  `json:"bytes,omitempty"`
	SHA256     string `json:"sha256,omitempty"`
	Format     string `json:"format,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Channels   int32  `json:"channels,omitempty"`
	Path       string `json:"path,omitempty"` // below the archive's address
	FetchedAt  int64  `json:"fetched_at"`     // ms since 1970 UTC
	Reason     string `json:"reason,omitempty"`
	Attempts   int32  `json:"attempts,omitempty"`
	// CallStart is where the call's row probably is, in ms since 1970 UTC; it is not stored.
	CallStart *int64 `json:"call_start,omitempty"`
}

// Undeleted reports whether a file that must not exist may still be there.
func (r *Recording) Undeleted() bool { return r.State == RecordingWithheld && r.Path != "" }

// Final reports whether no further attempt is made.
func (r *Recording) Final() bool { return r.State != RecordingDue && r.State != "" }

// GivenUp reports whether no attempt is made unless the link changes.
func (r *Recording) GivenUp() bool { return r.State == RecordingGone || r.State == RecordingRefused }

// Known reports whether the state is one of RecordingStates.
func (r *Recording) Known() bool { return slices.Contains(RecordingStates, r.State) }

// Fill sets the columns of a row of recordings, except those that repeat the call's.
func (r *Recording) Fill(row Row) {
	long := func(n int64) parquet.Value { return LongValue(Opt[int64]{V: n, OK: n != 0}) }
	short := func(n int32) parquet.Value {
		if n == 0 {
			return parquet.Value{}
		}
		return parquet.Int32Value(n)
	}
	for i, v := range [...]parquet.Value{
		TextValue([]byte(r.State)), long(r.Bytes), TextValue(orNil(r.SHA256)), TextValue(orNil(r.Format)), long(r.DurationMS),
		short(r.Channels), TextValue(orNil(r.Path)), InstantValue(r.FetchedAt), TextValue(orNil(r.Reason)), short(r.Attempts),
	} {
		row[1+i] = v
	}
}

// RecordingOf returns the content of a row of recordings. It does not alias the row.
func RecordingOf(row Row) Recording {
	text := func(col int) string { return string(TextOf(row[col])) }
	short := func(col int) int32 {
		if row[col].IsNull() {
			return 0
		}
		return row[col].Int32()
	}
	return Recording{State: text(1), Bytes: LongOf(row[2]).V, SHA256: text(3), Format: text(4), DurationMS: LongOf(row[5]).V,
		Channels: short(6), Path: text(7), FetchedAt: MillisOf(row[8]).V, Reason: text(9), Attempts: short(10)}
}
