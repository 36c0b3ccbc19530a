package commit

import (
	"encoding/json"
	"errors"
	"fmt"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/journal"
	"callhouse/internal/sink/snapshot"
)

// cachedLines limits the decoded journal frames that a commit keeps in memory.
const cachedLines = 4 << 20

// Intake is the input of one commit, grouped by call. It holds places instead of bodies, so its
// size depends only on the number of records.
type Intake struct {
	frames  journal.Frames // of the journal
	Parts   []*Part        // of dumps
	changes map[string]*change
	Covered []Covered
	bulk    *schema.Bulk // the last state of the pages of v2; nil: none
	rests   []schema.Rest
	Broken  []journal.Loss
	details int64
	// arrivals are the new records of the other resources.
	arrivals map[*resource.Resource]*arrivals

	forgotten *snapshot.Tombstones
	// exact means that every body is decoded to find its start. Otherwise peek reads only as far as
	// necessary, which saves an import an eighth of its processor time. The merge, which decodes
	// everything, returns ErrMisread if peek was wrong.
	exact bool
	dec   calls.Decoder
	call  calls.Call
	slab  []change
}

// Covered is a span of the list that a run has listed completely, according to its journal.
type Covered struct {
	schema.Span
	Run string
}

// ErrMisread means that peek misread a record: the commit must be repeated with an exact intake.
var ErrMisread = errors.New("a record is not what it appeared to be")

// change is the set of new records of one call.
type change struct {
	id        string
	run       string
	first     int64             // the earliest record's fetched_at
	start     schema.Opt[int64] // the latest start_at sent
	startSent bool              // whether any record has a start_at, null or not
	described bool              // whether any record is an item or a detail
	near      schema.Opt[int64] // where the row probably is, if start was not sent
	asOf      int64             // for dumps: latest time at which start was valid; 0: from a run
	entries   []entry           // in the order in which they came
	room      [1]entry          // memory for a single entry
	old       *calls.Call       // the row to be replaced, if it is in another file
}

// entry is the place of a record: in the journal, or in a dump.
type entry struct {
	at   int64 // offset of its frame in the segment, or of its line in the dump
	in   int32 // index of the segment; for a dump, ^in is the index of the part
	line int32 // offset of its line in the frame, or its length
	kind schema.Kind
}

// NewIntake returns an empty intake, which ignores forgotten calls.
func NewIntake(forgotten *snapshot.Tombstones, exact bool) *Intake {
	return &Intake{changes: map[string]*change{}, arrivals: map[*resource.Resource]*arrivals{},
		frames: journal.Frames{Limit: cachedLines}, forgotten: forgotten, exact: exact}
}

// ReadIntake reads the given sealed segments, without the records of forgotten calls.
func ReadIntake(fsys disk.FS, root string, refs []layout.Segment, forgotten *snapshot.Tombstones, exact bool) (*Intake, error) {
	in := NewIntake(forgotten, exact)
	for i, ref := range refs {
		s, err := journal.OpenSegment(fsys, root, ref)
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		in.frames.Segments = append(in.frames.Segments, s)
		broken, err := s.Scan(journal.IsLast(refs, i), func(frame int64, line int, r *schema.Record) error {
			if ofNoCall, err := in.note(r, ref.Run); ofNoCall {
				return err
			}
			at := entry{at: frame, in: int32(i), line: int32(line), kind: r.Kind}
			if r.Resource != "" {
				return in.addObject(at, r, ref.Run)
			}
			if !r.Kind.Describes() { // only v3 has the start of a call
				in.add(at, []byte(r.CallID), sentStart{}, r.FetchedAt, ref.Run)
				in.locate(r)
				return nil
			}
			_, start, err := in.peek(r.Body, r.Kind)
			if err != nil {
				return fmt.Errorf("%w: call %q: %w", journal.ErrUnreadable, r.CallID, err)
			}
			in.add(at, []byte(r.CallID), start, r.FetchedAt, ref.Run)
			return nil
		})
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		for _, what := range broken {
			in.Broken = append(in.Broken, journal.Loss{Run: ref.Run, What: what})
		}
	}
	return in, nil
}

// note adds a record that is not about a call; ofNoCall is false for all others.
func (in *Intake) note(r *schema.Record, run string) (ofNoCall bool, err error) {
	switch r.Kind {
	case schema.KindCovered:
		var span schema.Span
		if err = json.Unmarshal(r.Body, &span); err == nil {
			in.Covered = append(in.Covered, Covered{span, run})
		}
	case schema.KindBulkState:
		in.bulk = new(schema.Bulk)
		err = json.Unmarshal(r.Body, in.bulk)
	case schema.KindRest:
		var rest schema.Rest
		if err = json.Unmarshal(r.Body, &rest); err == nil {
			in.rests = append(in.rests, rest)
		}
	default:
		return false, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: a record that belongs to no call: %w", journal.ErrUnreadable, err)
	}
	return true, err
}

// sentStart is the start of a call in one record.
type sentStart struct {
	at   schema.Opt[int64]
	sent bool // false: the record has no start, not even null
}

// peek returns the id and the start of a call from its JSON.
func (in *Intake) peek(body []byte, kind schema.Kind) (id []byte, start sentStart, err error) {
	if !in.exact {
		if id, at, ok := calls.Peek(body); ok {
			return id, sentStart{at, true}, nil
		}
	}
	if err := in.dec.Decode(body, kind, &in.call); err != nil {
		return nil, start, err
	}
	return in.call.ID(), sentStart{in.call.StartAt(), in.call.CarriesStart()}, nil
}

// add adds a record, unless its call was forgotten.
func (in *Intake) add(e entry, id []byte, start sentStart, fetched int64, run string) {
	c := in.changes[string(id)]
	if c == nil {
		text := string(id)
		if in.forgotten.Forgot(text) {
			return
		}
		if len(in.slab) == 0 {
			in.slab = make([]change, 256)
		}
		c, in.slab = &in.slab[0], in.slab[1:]
		c.id, c.first = text, fetched
		c.entries = c.room[:0]
		in.changes[text] = c
	}
	c.run, c.first = run, min(c.first, fetched)
	if e.dumped() && fetched < c.asOf {
		if start.sent && !c.start.OK {
			c.start, c.startSent = start.at, true
		}
		c.entries = append(c.entries, e) // its data is older
		return
	}
	if e.kind.Describes() {
		c.described = true
		if start.sent && (start.at.OK || !e.dumped()) || !c.startSent { // a dump removes no start
			c.start, c.startSent = start.at, start.sent
		}
	}
	if e.dumped() {
		c.asOf = fetched
	}
	if e.kind == schema.KindDetail {
		in.details++
	}
	c.entries = append(c.entries, e)
}

// locate records where the row of a recording's call probably is, possibly years back.
func (in *Intake) locate(r *schema.Record) {
	var rec schema.Recording
	c := in.changes[r.CallID]
	if r.Kind != schema.KindRecording || c == nil || json.Unmarshal(r.Body, &rec) != nil || rec.CallStart == nil {
		return
	}
	c.near = schema.Some(*rec.CallStart)
}

// record returns the record at a place. The body of a record from a dump is in room, any other in
// the frames' memory, which does not change.
func (in *Intake) record(e entry, id string, room *[]byte) (schema.Record, error) {
	if e.in >= 0 {
		return in.frames.Record(journal.Place{Segment: e.in, Offset: e.at}, e.line)
	}
	p := in.Parts[^e.in]
	if cap(*room) < int(e.line) {
		*room = make([]byte, int(e.line)+int(e.line)/4)
	}
	body := (*room)[:e.line]
	if _, err := p.File.ReadAt(body, e.at); err != nil {
		return schema.Record{}, fmt.Errorf("read %s: %w", p.Name, err)
	}
	return schema.Record{Kind: e.kind, CallID: id, FetchedAt: p.AsOf, Body: body}, nil
}

// dumped reports whether a record is from a dump, rather than a run's journal.
func (e entry) dumped() bool { return e.in < 0 }

// Close closes the segments of the journal. The dumps belong to the caller.
func (in *Intake) Close() error { return in.frames.Close() }
