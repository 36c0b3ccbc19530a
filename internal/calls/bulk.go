package calls

import (
	"errors"
	"fmt"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/wire/scan"
)

// The words of the column transcript_source.
const (
	fromV2     = "v2"
	fromV2Only = "v2_only"
)

// InBulk reports whether the transcript came on a page of v2 and was not replaced by that of v3
// yet, all else being from v3.
func (c *Call) InBulk() bool { return string(c.text(colTranscriptSource)) == fromV2 }

// keepBulk records that v3 has no transcript that could replace the known one of v2.
func (c *Call) keepBulk() { c.Row[colTranscriptSource] = schema.TextValue([]byte(fromV2Only)) }

// SetTranscriptSource copies the source of the transcript from another state of the call.
func (c *Call) SetTranscriptSource(of *Call) {
	c.Row[colTranscriptSource] = of.Row[colTranscriptSource]
}

// CheckTranscript returns why a call of a page of v2 cannot be the source of its transcript, or
// nil. The call must be over, its caller must not have opted out, and it must have its whole
// timeline, which must match the list of spoken items.
func (c *Call) CheckTranscript() error {
	switch {
	case c.Source() != schema.V2:
		return fmt.Errorf("it has the form of %s", c.Source())
	case !c.Over():
		return errors.New("it is not over")
	case c.OptedOut():
		return errors.New("its caller opted out of storage")
	case c.Sent>>(len(schema.Calls.Columns)+turnList)&1 == 0:
		return errors.New("it has no transcript_with_tool_calls")
	}
	if short := wire.InExtra(&c.Object, "transcript"); short.Shape != scan.IsAbsent && (c.Turns().Len() > 0 || short.Shape != scan.IsArray) {
		return errors.New("its two transcripts do not fit together")
	}
	return nil
}

// mergeBulk takes the transcript of a page of v2, and the fields that only v2 has, for a call that
// waits for its own record or was skipped. For any other call it takes nothing.
func mergeBulk(old, new *Call) {
	page := new.Copy()
	new.Set(&old.Object)
	if !old.DetailDue() && old.TranscriptState() != Skipped {
		return
	}
	new.Fetched(firstSeen(old, page), page.FetchedAt(), page.RunID())
	new.TakeTranscript(page)
	// Without an amount from v3, or an analysis, they would make the call look settled.
	if old.costed() {
		new.fill(page, colCreditsUsed, colBilled)
	}
	if old.Analyzed() {
		new.fill(page, colEvaluation)
	}
	new.Row[colTranscriptSource] = schema.TextValue([]byte(fromV2))
}

// TakeTranscript replaces the call's transcript by another state's.
func (c *Call) TakeTranscript(from *Call) {
	c.Row[colTurnCount] = from.Row[colTurnCount]
	c.Turns().Set(from.Turns())
	c.SetTranscriptState(decodedState(c))
}

// fill sets the given columns that are null to from's values.
func (c *Call) fill(from *Call, columns ...int) {
	for _, col := range columns {
		if c.Row[col].IsNull() {
			c.Row[col] = from.Row[col]
		}
	}
}
