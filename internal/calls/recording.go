package calls

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"callhouse/internal/schema"
)

// RecordingColumns are the columns of calls that [Call.RecordingDue] and [RecordingOf] read.
var RecordingColumns = []string{"call_id", "status", "start_at", "end_at", "recording_url",
	"opt_out_sensitive_data_storage", "turn_count", "transcript_state", "first_seen_at", "fetched_at"}

// Recording is a call whose recording must be archived.
type Recording struct {
	CallID    string
	StartAt   schema.Opt[int64]
	Since     int64 // see [Call.EndOrSight]
	Link      string
	LinkedAt  int64            // when the service sent the link, in ms since 1970 UTC
	RecordDue bool             // the call's own record is due, which has a new link
	Known     schema.Recording // of earlier attempts; the zero value: there was none
}

// Record returns the record of what became of the call's recording; at is in ms since 1970 UTC.
func (r *Recording) Record(out schema.Recording, at int64) (schema.Record, error) {
	if out.CallStart = nil; r.StartAt.OK {
		out.CallStart = &r.StartAt.V
	}
	body, err := json.Marshal(out)
	if err != nil {
		return schema.Record{}, fmt.Errorf("encode the outcome of a recording: %w", err) // texts and numbers cannot fail
	}
	return schema.Record{Kind: schema.KindRecording, CallID: r.CallID, FetchedAt: at, Body: body}, nil
}

// Recording returns what became of the call's recording; false if nothing was tried.
func (c *Call) Recording() (r schema.Recording, ok bool) {
	if c.Recordings().Len() == 0 {
		return r, false
	}
	return schema.RecordingOf(c.Recordings().At(0)), true
}

// SetRecording sets what became of the call's recording.
func (c *Call) SetRecording(r *schema.Recording) {
	rows := c.Recordings()
	rows.Cut(0)
	r.Fill(rows.Add())
}

// RecordingDue reports whether the call's recording must still be archived: the call is over and
// connected, it has a link and no opt-out, and no outcome is final. It needs no turns and items.
func (c *Call) RecordingDue() bool {
	never := string(c.Status()) == "not_connected" || c.TranscriptState() == Empty && !c.TurnCount().OK
	if never || !c.Over() || c.OptedOut() || len(c.text(colRecordingURL)) == 0 {
		return false
	}
	r, tried := c.Recording()
	return !tried || !r.Final()
}

// RecordingOf returns a call with its recording.
func RecordingOf(c *Call) Recording {
	r := Recording{CallID: string(c.ID()), StartAt: c.StartAt(), Since: c.EndOrFirstSeen(), Link: string(c.text(colRecordingURL)),
		LinkedAt: c.FetchedAt(), RecordDue: c.Waits()}
	r.Known, _ = c.Recording()
	return r
}

// SuspectRecording marks a call whose recording was due when its caller opted out: a run that was
// killed may have stored the file without recording that.
func (c *Call) SuspectRecording() {
	if r, _ := c.Recording(); r.Path == "" {
		c.SetRecording(&schema.Recording{State: schema.RecordingWithheld, Path: schema.RecordingSomewhere,
			FetchedAt: cmp.Or(r.FetchedAt, c.FetchedAt()), Attempts: r.Attempts, Reason: optedOut})
	}
}

// SameLink reports whether two states of a call have the same link to its recording, signature
// included.
func SameLink(a, b *Call) bool { return bytes.Equal(a.text(colRecordingURL), b.text(colRecordingURL)) }

// Archived makes new the known state of a call with the outcome of its recording, the body of a
// record. Nothing else changes, not even when and by which run the call was fetched.
func Archived(old, new *Call, body []byte) error {
	var r schema.Recording
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("read the outcome of a recording: %w", err)
	}
	if !r.Known() {
		return fmt.Errorf("read the outcome of a recording: there is no state %q", r.State)
	}
	new.Set(&old.Object)
	new.SetRecording(&r)
	new.withholdRecording()
	return nil
}

// keepRecording takes over what became of the recording of an older state: no answer of the service
// contains it. But a recording that was given up is due again if there is a new link to it.
func (c *Call) keepRecording(old *Call) {
	if old != nil && c.Recordings().Len() == 0 {
		c.Recordings().Set(old.Recordings())
	}
	if old != nil {
		c.retryRecording(old)
	}
	c.withholdRecording()
}

// RecordingAttempts bounds the attempts at a recording that was given up. Many services sign a link
// anew in every answer, so a new signature alone shows no change.
const RecordingAttempts = 24

// retryRecording makes a recording that was given up due again if its link differs from that of an
// older state: it leads to another place or, as long as attempts are left, has another signature.
func (c *Call) retryRecording(old *Call) {
	r, _ := c.Recording()
	link := c.text(colRecordingURL)
	if !r.GivenUp() || len(link) == 0 || SameLink(old, c) {
		return
	}
	place, _, _ := bytes.Cut(link, []byte("?"))
	was, _, _ := bytes.Cut(old.text(colRecordingURL), []byte("?"))
	if !bytes.Equal(place, was) {
		r.Attempts = 0
	}
	if r.Attempts < RecordingAttempts {
		r.State = schema.RecordingDue
		c.SetRecording(&r)
	}
}

const optedOut = "the caller opted out of storage"

// withholdRecording marks a recording whose caller has opted out. The path stays until the file is
// deleted.
func (c *Call) withholdRecording() {
	r, ok := c.Recording()
	if ok && c.OptedOut() && r.State != schema.RecordingWithheld {
		c.SetRecording(&schema.Recording{State: schema.RecordingWithheld, Path: r.Path, FetchedAt: r.FetchedAt, Attempts: r.Attempts,
			Reason: optedOut})
	}
}
