package calls

import (
	"fmt"

	"callhouse/internal/schema"
)

// Kind groups calls that are alike in having a transcript or not: by status, reason, and whether
// they lasted any time. The record of every call without a kind is requested.
type Kind string

// Kind returns the call's kind. Calls that lasted and ended have none, and neither have calls that
// are not over, or whose status or reason is unknown.
func (c *Call) Kind() Kind {
	status, reason := c.Status(), c.text(colReason)
	lasted := c.StartAt().OK && c.EndAt().OK && c.EndAt().V > c.StartAt().V
	if !finalStatus(status) || string(status) == "ended" && lasted || reason != nil && !schema.Calls.Columns[colReason].Knows(reason) {
		return ""
	}
	if reason == nil {
		reason = []byte("no reason")
	}
	length := "no time"
	if lasted {
		length = "some time"
	}
	return Kind(fmt.Sprintf("%s, %s, lasted %s", status, reason, length))
}

// enoughRecords is how many records of a kind, all of them without a transcript, are needed before
// calls of the kind are skipped.
const enoughRecords = 50

// Kinds counts records by the kinds of their calls.
type Kinds map[Kind]Records

// Records counts records that finally had no transcript, and those that had one.
type Records struct{ Empty, Filled int64 }

// Add counts the record of a call if it was fetched.
func (k Kinds) Add(c *Call) {
	if c.TurnCount().OK {
		k.add(c.Kind(), c.TurnCount().V > 0, c.TranscriptState() == Empty)
	}
}

// add counts a record of a kind. filled means that it had a transcript, empty that it is final
// without one.
func (k Kinds) add(kind Kind, filled, empty bool) {
	of := k[kind]
	switch {
	case kind == "":
		return
	case filled:
		of.Filled++
	case empty:
		of.Empty++
	}
	k[kind] = of
}

// NoTranscripts reports whether enough records of a kind had no transcript, and none had one, so that
// another one is unlikely to have one.
func (k Kinds) NoTranscripts(kind Kind) bool {
	of := k[kind]
	return kind != "" && of.Filled == 0 && of.Empty >= enoughRecords
}

// Skips reports whether a call's record is not worth a request. One in a hundred is requested
// nevertheless, so that a change is noticed.
func (k Kinds) Skips(due *Due) bool {
	return k.NoTranscripts(due.Kind) && !sampled("kind", []byte(due.CallID))
}
