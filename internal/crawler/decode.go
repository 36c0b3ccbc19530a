package crawler

import (
	"bytes"
	"errors"
	"fmt"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// heading is the part of a call that the crawler itself uses.
type heading struct {
	id      string
	start   schema.Opt[int64]
	started bool // the body has a start
}

var errNoID = errors.New("no id")

// reader decodes calls, one at a time.
type reader struct {
	decoder calls.Decoder
	call    calls.Call
}

// read decodes a body, counts its drift, and returns its heading. It passes the call to look, which may
// be nil. The call is valid until look returns.
func (c *Crawler) read(body []byte, k schema.Kind, look func(*calls.Call)) (heading, error) {
	if len(body) > api.MaxBody { // an item of a page: records are never larger
		return heading{}, fmt.Errorf("over %d MiB", api.MaxBody>>20)
	}
	r := c.readers.Get().(*reader)
	defer c.readers.Put(r)
	if err := r.decoder.Decode(body, k, &r.call); err != nil {
		return heading{}, err // the error is self-explanatory
	}
	if len(r.call.ID()) == 0 {
		return heading{}, errNoID
	}
	c.meter.drifted(r.decoder.Drift)
	if k == schema.KindItem {
		c.seeBrief(body)
	}
	if look != nil {
		look(&r.call)
	}
	return heading{id: string(r.call.ID()), start: r.call.StartAt(), started: r.call.CarriesStart()}, nil
}

// seeBrief records whether an item of the list has the fields that are filled in later: see
// briefList.
func (c *Crawler) seeBrief(item []byte) {
	if bytes.Contains(item, []byte(`"call_analysis"`)) || bytes.Contains(item, []byte(`"call_cost"`)) {
		c.itemsWith.Add(1)
	} else {
		c.itemsWithout.Add(1)
	}
}
