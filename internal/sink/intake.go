package sink

import (
	"encoding/json"
	"errors"
	"fmt"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// cachedLines limits the decoded journal frames that a commit keeps in memory.
const cachedLines = 4 << 20

// intake is the input of one commit, grouped by call. It holds places instead of bodies, so its
// size depends only on the number of records.
type intake struct {
	frames  journalFrames // of the journal
	changes map[string]*change
	Covered []coveredSpan
	bulk    *schema.Bulk // the last state of the pages of v2; nil: none
	rests   []schema.Rest
	Broken  []journalLoss
	details int64
	// arrivals are the new records of the other resources.
	arrivals map[*resource.Resource]*arrivals

	forgotten *tombstones
}

// coveredSpan is a span of the list that a run has listed completely, according to its journal.
type coveredSpan struct {
	schema.Span
	Run string
}

// change is the set of new records of one call.
type change struct {
	id        string
	run       string
	first     int64             // the earliest record's fetched_at
	start     schema.Opt[int64] // the latest start_at sent
	startSent bool              // whether any record has a start_at, null or not
	described bool              // whether any record is an item or a detail
	near      schema.Opt[int64] // where the row probably is, if start was not sent
	asOf      int64             // of imported records: latest time at which start was valid; 0: from a run
	entries   []entry           // in the order in which they came
	old       *calls.Call       // the row to be replaced, if it is in another file
}

// entry is the place of a record in the journal.
type entry struct {
	at       int64 // offset of its frame in the segment
	in       int32 // index of the segment
	line     int32 // offset of its line in the frame
	kind     schema.Kind
	imported bool
}

// readIntake reads the given sealed segments, without the records of forgotten calls.
func readIntake(fsys disk.FS, root string, refs []layout.Segment, forgotten *tombstones) (*intake, error) {
	in := &intake{changes: map[string]*change{}, arrivals: map[*resource.Resource]*arrivals{},
		frames: journalFrames{Limit: cachedLines}, forgotten: forgotten}
	for i, ref := range refs {
		s, err := openSegment(fsys, root, ref)
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		in.frames.Segments = append(in.frames.Segments, s)
		broken, err := s.Scan(isLastSegment(refs, i), func(frame int64, line int, r *schema.Record) error {
			if ofNoCall, err := in.note(r, ref.Run); ofNoCall {
				return err
			}
			at := entry{at: frame, in: int32(i), line: int32(line), kind: r.Kind, imported: r.Imported}
			if r.Resource != "" {
				return in.addObject(at, r, ref.Run)
			}
			in.add(at, r, ref.Run)
			in.locate(r)
			return nil
		})
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		for _, what := range broken {
			in.Broken = append(in.Broken, journalLoss{Run: ref.Run, What: what})
		}
	}
	return in, nil
}

// note adds a record that is not about a call; ofNoCall is false for all others.
func (in *intake) note(r *schema.Record, run string) (ofNoCall bool, err error) {
	switch r.Kind {
	case schema.KindCovered:
		var span schema.Span
		if err = json.Unmarshal(r.Body, &span); err == nil {
			in.Covered = append(in.Covered, coveredSpan{span, run})
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
		err = fmt.Errorf("%w: a record that belongs to no call: %w", errUnreadable, err)
	}
	return true, err
}

// add adds a record, unless its call was forgotten.
func (in *intake) add(e entry, r *schema.Record, run string) {
	c := in.changes[r.CallID]
	if c == nil {
		if in.forgotten.Forgot(r.CallID) {
			return
		}
		c = &change{id: r.CallID, first: r.FetchedAt}
		in.changes[c.id] = c
	}
	c.run, c.first = run, min(c.first, r.FetchedAt)
	c.entries = append(c.entries, e)
	if e.imported && r.FetchedAt < c.asOf { // its data is older
		if r.Started && !c.start.OK {
			c.start, c.startSent = r.Start, true
		}
		return
	}
	if e.kind.Describes() {
		c.described = true
		if r.Started && (r.Start.OK || !e.imported) || !c.startSent { // an imported record removes no start
			c.start, c.startSent = r.Start, r.Started
		}
	}
	if e.imported {
		c.asOf = r.FetchedAt
	}
	if e.kind == schema.KindDetail {
		in.details++
	}
}

// locate records where the row of a recording's call probably is, possibly years back.
func (in *intake) locate(r *schema.Record) {
	var rec schema.Recording
	c := in.changes[r.CallID]
	if r.Kind != schema.KindRecording || c == nil || json.Unmarshal(r.Body, &rec) != nil || rec.CallStart == nil {
		return
	}
	c.near = schema.Some(*rec.CallStart)
}

// record returns the record at a place.
func (in *intake) record(e entry) (schema.Record, error) {
	return in.frames.Record(framePlace{Segment: e.in, Offset: e.at}, e.line)
}

// Close closes the segments of the journal.
func (in *intake) Close() error { return in.frames.Close() }
