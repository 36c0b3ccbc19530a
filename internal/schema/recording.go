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
	State     string `json:"state"`
	Bytes     int64  `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Format    string `json:"format,omitempty"`
	Path      string `json:"path,omitempty"` // below the archive's address
	FetchedAt int64  `json:"fetched_at"`     // ms since 1970 UTC
	Reason    string `json:"reason,omitempty"`
	Attempts  int32  `json:"attempts,omitempty"`
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
	var attempts parquet.Value
	if r.Attempts != 0 {
		attempts = parquet.Int32Value(r.Attempts)
	}
	for i, v := range [...]parquet.Value{
		TextValue([]byte(r.State)), LongValue(Opt[int64]{V: r.Bytes, OK: r.Bytes != 0}), TextValue(orNil(r.SHA256)), TextValue(orNil(r.Format)),
		TextValue(orNil(r.Path)), InstantValue(r.FetchedAt), TextValue(orNil(r.Reason)), attempts,
	} {
		row[1+i] = v
	}
}

// RecordingOf returns the content of a row of recordings. It does not alias the row.
func RecordingOf(row Row) Recording {
	text := func(col int) string { return string(TextOf(row[col])) }
	r := Recording{State: text(1), Bytes: LongOf(row[2]).V, SHA256: text(3), Format: text(4), Path: text(5),
		FetchedAt: MillisOf(row[6]).V, Reason: text(7)}
	if !row[8].IsNull() {
		r.Attempts = row[8].Int32()
	}
	return r
}
