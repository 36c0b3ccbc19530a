package calls

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/wire/scan"
)

var bulkSource = schema.TextValue([]byte(schema.V2.String()))

// InBulk says whether the transcript came on a page of v2, and all else from v3.
func (c *Call) InBulk() bool { return !c.Row[colTranscriptSource].IsNull() }

// SetTranscriptSource takes from another state of the call where its transcript came from.
func (c *Call) SetTranscriptSource(of *Call) {
	c.Row[colTranscriptSource] = of.Row[colTranscriptSource]
}

// TellsTranscript returns what is wrong with a call of a page of v2 as the source of its
// transcript, or nil. It must be over, of a caller who did not opt out, and have its whole
// time line, to which the list of what was spoken fits.
func (c *Call) TellsTranscript() error {
	extra := wire.ReadExtra(&c.Object)
	switch {
	case c.Source() != schema.V2:
		return fmt.Errorf("it has the form of %s", c.Source())
	case !c.Over():
		return errors.New("it is not over")
	case c.OptedOut():
		return errors.New("its caller opted out of storage")
	case !c.TurnCount().OK, extra.Absent(toolsField), extra.Null(toolsField):
		return errors.New("it has no transcript_with_tool_calls")
	case extra.Value(toolsField).Shape != scan.IsAbsent, extra.Value(transcriptField).Shape != scan.IsAbsent:
		return errors.New("its two transcripts do not fit together")
	}
	return nil
}

// Distrust makes a call wait for its own record if its transcript came on a page of v2,
// and says so. The turns stay until then.
func (c *Call) Distrust() bool {
	if !c.InBulk() {
		return false
	}
	c.Row[colTranscriptSource] = parquet.Value{}
	c.SetTranscriptState(Pending)
	return true
}

// mergeBulk takes the transcript of a page of v2, and what v2 alone tells, of a call that
// waits for its own record, or was passed over. Of any other it takes nothing.
func mergeBulk(old, new *Call) {
	page := new.Copy()
	new.Set(&old.Object)
	if !old.DetailDue() && old.TranscriptState() != Skipped {
		return
	}
	new.Fetched(old.FirstSeenAt(), page.FetchedAt(), page.RunID())
	new.Row[colTurnCount] = page.Row[colTurnCount]
	new.Turns().Set(page.Turns())
	// Without an amount of v3's, or an analysis, they would make the call look settled.
	if old.costed() {
		new.fill(page, colCreditsUsed, colBilled)
	}
	if old.analyzed() {
		new.fill(page, colEvaluation)
	}
	new.Row[colTranscriptSource] = bulkSource
	new.SetTranscriptState(decodedState(new))
}

// fill takes the values of columns that have none.
func (c *Call) fill(from *Call, columns ...int) {
	for _, col := range columns {
		if c.Row[col].IsNull() {
			c.Row[col] = from.Row[col]
		}
	}
}
