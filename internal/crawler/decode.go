package crawler

import (
	"bytes"
	"fmt"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// maxParts is the maximum number of turns, items and unknown fields of a call.
const maxParts = 100_000

// reader decodes calls, one at a time.
type reader struct {
	decoder calls.Decoder
	call    calls.Call
}

// reader returns a reader, which is put back into readers after its last use.
func (c *Crawler) reader() *reader {
	if r, ok := c.readers.Get().(*reader); ok {
		return r
	}
	return &reader{decoder: calls.Decoder{Decoder: wire.Decoder{MaxParts: maxParts}}}
}

// decode decodes a body into r's call, and counts its drift.
func (c *Crawler) decode(r *reader, body []byte, k schema.Kind) error {
	if len(body) > api.MaxBody { // an item of a page: records are never larger
		return fmt.Errorf("over %d MiB", api.MaxBody>>20)
	}
	if err := r.decoder.Decode(body, k, &r.call); err != nil {
		return err // the error is self-explanatory
	}
	c.meter.drifted(r.decoder.Drift)
	return nil
}

// noteDetails records whether an item of the list has the fields that are filled in later: see listIsBrief.
func (c *Crawler) noteDetails(item []byte) {
	if bytes.Contains(item, []byte(`"call_analysis"`)) || bytes.Contains(item, []byte(`"call_cost"`)) {
		c.itemsWith.Add(1)
	} else {
		c.itemsWithout.Add(1)
	}
}
