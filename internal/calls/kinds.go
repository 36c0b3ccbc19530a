package calls

import (
	"fmt"

	"callhouse/internal/schema"
)

// Kind is what calls have in common that may tell whether they have a transcript: status,
// reason, and whether they lasted any time. Of calls without one every record is asked for.
type Kind string

// Kind returns the call's kind. Calls that lasted and ended have none, and neither have calls
// that are not over, or whose status or reason is not known.
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

// enoughRecords is how many records of a kind must have had no transcript, and none one,
// before calls of the kind are passed over.
const enoughRecords = 50

// Kinds counts records by the kinds of their calls.
type Kinds map[Kind]Records

// Records counts those that had no transcript for good, and those that had one.
type Records struct{ Empty, Told int64 }

// Add counts the record of a call, as far as it was fetched and tells something.
func (k Kinds) Add(c *Call) {
	if c.TurnCount().OK {
		k.add(c.Kind(), c.TurnCount().V > 0, c.TranscriptState() == Empty)
	}
}

// add counts a record of a kind: whether it had a transcript, or had none for good.
func (k Kinds) add(kind Kind, told, empty bool) {
	of := k[kind]
	switch {
	case kind == "":
		return
	case told:
		of.Told++
	case empty:
		of.Empty++
	}
	k[kind] = of
}

// Barren says whether no record of a kind had a transcript, of so many that the next will
// hardly have one either.
func (k Kinds) Barren(kind Kind) bool {
	of := k[kind]
	return kind != "" && of.Told == 0 && of.Empty >= enoughRecords
}

// Skips says whether a call's record is not worth a request. One in a hundred is asked for
// all the same, so that a change is seen.
func (k Kinds) Skips(due *Due) bool {
	return k.Barren(due.Kind) && !sampled("kind", []byte(due.CallID))
}
