package calls

import "github.com/parquet-go/parquet-go"

// Lose is for a call whose turns or items can no longer be read. It makes the call wait for its own
// record again, which restores both. All other data stays.
//
// If that data alone would mean that the call never connected, so that its record would not be
// requested, only its id, its start and what became of its recording stay.
func (c *Call) Lose(turns, items bool) {
	if !(turns && c.TurnCount().V > 0 || items && c.Analyzed()) || c.OptedOut() {
		return
	}
	if turns {
		c.Turns().Cut(0)
		c.Row[colTurnCount] = parquet.Value{}
		c.Complete(nil)
	}
	if items {
		c.Items().Cut(0)
	}
	c.Row[colTranscriptSource] = parquet.Value{}
	c.SetTranscriptState(Pending)
	if c.neverConnected() {
		stub := c.Stub()
		stub.Fetched(c.FirstSeenAt(), c.FetchedAt(), c.RunID())
		stub.Recordings().Set(c.Recordings())
		c.Set(&stub.Object)
	}
}
