package table

import (
	"bytes"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Period reads the calls of one period with their turns and items.
type Period struct {
	*Objects
	last *calls.Call // the call whose lists were not taken yet
}

// OpenPeriod opens the files of a period; nil if there are none. See OpenObjects for the
// parameters. If only is Recordings, calls also have the columns that show whether a recording is
// due.
func OpenPeriod(only []*schema.Table, open func(*schema.Table) (*Reader, error)) (*Period, error) {
	o, err := OpenObjects(schema.CallResource, func(column int) bool { return column == 0 }, only, open)
	if o == nil {
		return nil, err
	}
	if slices.Equal(only, []*schema.Table{&schema.Recordings}) {
		o.rows.Pick(calls.RecordingColumns...)
	}
	return &Period{Objects: o}, err
}

// callPool holds calls whose memory is reused.
var callPool = sync.Pool{New: func() any { return new(calls.Call) }}

// Next returns the next call, without its lists, or nil at the end. Lists not taken are skipped.
func (p *Period) Next() (*calls.Call, error) {
	if p.last != nil {
		if err := p.each(&p.last.Object, skip); err != nil {
			return nil, err
		}
		p.last = nil
	}
	row, err := p.rows.Next()
	if err != nil || row == nil {
		return nil, err
	}
	p.last, _ = callPool.Get().(*calls.Call)
	return p.last, p.rows.Call(row, p.last)
}

func skip(int, parquet.Row) error { return nil }

// Read reads the next call with its lists, reusing the memory of to, and returns false if there is
// none.
func (p *Period) Read(to *calls.Call) (bool, error) {
	row, err := p.rows.Next()
	if err != nil {
		return false, err
	}
	if row == nil {
		return false, p.each(nil, skip)
	}
	if err := p.rows.Call(row, to); err != nil {
		return false, err
	}
	return true, p.Take(to)
}

// Each visits the remaining calls.
func (p *Period) Each(visit func(*calls.Call) error) error {
	for {
		call, err := p.Next()
		if err != nil || call == nil {
			return err
		}
		if err := visit(call); err != nil {
			return err
		}
	}
}

// Take reads the turns and items of the call last returned by Next.
func (p *Period) Take(call *calls.Call) error {
	p.last = nil
	return p.Objects.Take(&call.Object)
}

// Upgrade converts a call from an older file to the current tables: values in extra move to their
// columns, if these exist by now. It needs no request, since extra holds the values as sent: the
// call's JSON is rebuilt and decoded again. If the result does not reproduce exactly the same JSON,
// the call stays unchanged; nothing is lost, the values just stay in extra.
func Upgrade(dec *calls.Decoder, call *calls.Call) *calls.Call {
	if !call.HasExtra() && call.Lacks == nil {
		return call
	}
	kind := schema.KindItem
	if call.TurnCount().OK {
		kind = schema.KindDetail
	}
	body := call.AppendJSON(nil)
	now := new(calls.Call)
	if err := dec.Decode(body, kind, now); err != nil || now.Source() != call.Source() || now.TurnCount() != call.TurnCount() ||
		!bytes.Equal(now.ID(), call.ID()) || now.StartAt() != call.StartAt() || !bytes.Equal(now.AppendJSON(nil), body) {
		return call
	}
	now.Fetched(call.FirstSeenAt(), call.FetchedAt(), call.RunID())
	now.SetTranscriptState(call.TranscriptState())
	now.SetTranscriptSource(call)
	now.SetSettlement(call.Settlement())
	now.Recordings().Set(call.Recordings())
	return now.Clone() // the decoder's memory is reused
}
