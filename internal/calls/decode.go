package calls

import (
	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Decoder decodes the JSON of calls. The ownership rules of [wire.Decoder] apply.
type Decoder struct{ wire.Decoder }

// Decode decodes body, the JSON object of one call, into c: see [wire.Decoder.Decode].
//
// It sets TranscriptState as far as the body allows. The columns of [Call.Fetched] are zero, and
// [Call.Settle] sets Settlement.
func (d *Decoder) Decode(body []byte, kind schema.Kind, c *Call) error {
	if kind == schema.KindBulk {
		kind = schema.KindItem // also in a list
	}
	if err := d.Decoder.Decode(schema.CallResource, body, kind, &c.Object); err != nil {
		return err
	}
	c.begin()
	c.SetTranscriptState(decodedState(c))
	if n := c.backwards(); n > 0 {
		d.Drift = append(d.Drift, wire.Drift{Path: "transcript[].end_at", Kind: wire.DriftMismatch, Count: n})
	}
	return nil
}

// backwards counts the turns that end before they start.
func (c *Call) backwards() (n int) {
	for i := range c.Turns().Len() {
		turn := c.Turns().At(i)
		if from, to := schema.MillisOf(turn[colTurnStart]), schema.MillisOf(turn[colTurnEnd]); from.OK && to.OK && to.V < from.V {
			n++
		}
	}
	return n
}
