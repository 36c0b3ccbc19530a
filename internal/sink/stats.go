package sink

import (
	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Stats counts the results of a commit.
type Stats struct {
	New         int64 // new calls
	Changed     int64 // calls known before the run that changed
	Settled     int64 // calls that became settled
	Missing     int64 // calls whose detail returned 404
	Skipped     int64 // calls whose detail is not requested because of their kind
	Transcripts int64 // details with a transcript
	Turns       int64 // their turns
	Details     int64 // details merged
	Due         int64 // ended calls that wait for their detail, in the whole warehouse
	Unverified  int64 // transcripts of v2 that were not yet compared with v3, in the whole warehouse
	Written     int   // data files written
	Aged        int64 // calls dropped by retention
	Bytes       int64 // size of the data files written

	Recordings int64 // recordings stored
	// RecordingsDue are still to be archived, in the whole warehouse; null without an archive.
	RecordingsDue schema.Opt[int64]

	ObjectsChanged int64 // objects of other resources that are new, changed, deleted or restored

	Drifted int64            // values of dumps that departed from the columns' expectations
	Drift   wire.DriftCounts // the same, by place and kind; not changed once it is here

	Redacted string // JSON with the number of values redacted so far, by kind; empty: none
}

// took counts the transcript of a call, if it has one.
func (s *Stats) took(call *calls.Call) {
	if n := call.Turns().Len(); n > 0 {
		s.Transcripts++
		s.Turns += int64(n)
	}
}

// drifted counts the departures of a record.
func (s *Stats) drifted(drift []wire.Drift) {
	if len(drift) == 0 {
		return
	}
	if s.Drift == nil {
		s.Drift = wire.DriftCounts{}
	}
	s.Drifted += s.Drift.Add(drift)
}

// archived counts the recording of a call.
func (s *Stats) archived(call *calls.Call) {
	if r, _ := call.Recording(); r.State == schema.RecordingStored {
		s.Recordings++
	}
}

// folded counts the change that a run makes to a call, which may be new.
func (s *Stats) folded(old, now *calls.Call, run string) {
	switch {
	case old == nil:
		s.New++
	case string(old.RunID()) != run && !calls.Same(old, now):
		s.Changed++ // once per run: not for the detail of a call that this run listed
	}
	if now.Settlement() == calls.Settled && (old == nil || old.Settlement() != calls.Settled) {
		s.Settled++
	}
	if now.TranscriptState() == calls.Skipped && (old == nil || old.TranscriptState() != calls.Skipped) {
		s.Skipped++
	}
}

// Add sums the counts of two commits; the figures of the whole warehouse are the later one's.
func (s Stats) Add(o Stats) Stats {
	o.New += s.New
	o.Changed += s.Changed
	o.Settled += s.Settled
	o.Missing += s.Missing
	o.Skipped += s.Skipped
	o.Transcripts += s.Transcripts
	o.Turns += s.Turns
	o.Details += s.Details
	o.Written += s.Written
	o.Aged += s.Aged
	o.Bytes += s.Bytes
	o.Recordings += s.Recordings
	o.ObjectsChanged += s.ObjectsChanged
	o.Drifted += s.Drifted
	o.Drift = o.Drift.Plus(s.Drift)
	return o
}

// AddTo adds the counts to the row of a run.
func (s Stats) AddTo(run *schema.Run) {
	run.CallsNew += s.New
	run.CallsChanged += s.Changed
	run.CallsSettled += s.Settled
	run.CallsSkipped += s.Skipped
	run.CallsPending = s.Due
	run.Unverified = schema.Some(s.Unverified)
	run.RecordingsStored += s.Recordings
	run.RecordingsDue = s.RecordingsDue
	run.Transcripts += s.Transcripts
	run.Turns += s.Turns
	run.Drift += s.Drifted
	if s.Redacted != "" {
		run.Redacted = []byte(s.Redacted)
	}
}
