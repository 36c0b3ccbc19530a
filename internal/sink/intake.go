package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
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
	imported  bool              // start is from an imported record
	entries   []entry           // in the order in which they came
	old       *calls.Call       // the row to be replaced, if it is in another file
}

// entry is the place of a record in the journal.
type entry struct {
	framePlace
	line     int32 // offset of its line in the frame
	kind     schema.Kind
	imported bool
}

// readIntake reads the given sealed segments, without the records of forgotten calls. It records which
// parts are unreadable.
func (w *Warehouse) readIntake(refs []layout.Segment) (*intake, error) {
	in := &intake{changes: map[string]*change{}, arrivals: map[*resource.Resource]*arrivals{},
		frames: journalFrames{Limit: cachedLines}, forgotten: w.forgotten}
	for i, ref := range refs {
		s, err := openSegment(w.opts.FS, w.opts.Root, ref)
		if err != nil {
			return nil, errors.Join(err, in.frames.Close())
		}
		in.frames.Segments = append(in.frames.Segments, s)
		broken, err := s.Scan(isLastSegment(refs, i), func(frame int64, line int, r *schema.Record) error {
			return in.add(entry{framePlace: framePlace{int32(i), frame}, line: int32(line), kind: r.Kind, imported: r.Imported}, r, ref.Run)
		})
		if err != nil {
			return nil, errors.Join(err, in.frames.Close())
		}
		for _, what := range broken {
			w.lostJournal(journalLoss{Run: ref.Run, What: what})
		}
	}
	// The lost part may include some of the pages of these spans.
	w.mu.Lock()
	defer w.mu.Unlock()
	in.Covered = slices.DeleteFunc(in.Covered, func(s coveredSpan) bool { return w.incomplete[s.Run] })
	return in, nil
}

// add adds a record of a run, unless its call was forgotten.
func (in *intake) add(e entry, r *schema.Record, run string) (err error) {
	switch r.Kind {
	case schema.KindCovered:
		span := coveredSpan{Run: run}
		if err = json.Unmarshal(r.Body, &span.Span); err == nil {
			in.Covered = append(in.Covered, span)
		}
	case schema.KindBulkState:
		in.bulk = new(schema.Bulk)
		err = json.Unmarshal(r.Body, in.bulk)
	default:
		if r.Resource != "" {
			return in.addObject(e, r, run)
		}
		in.addCall(e, r, run)
	}
	if err != nil {
		err = fmt.Errorf("%w: a record that belongs to no call: %w", errUnreadable, err)
	}
	return err
}

// addCall adds a record of a call.
func (in *intake) addCall(e entry, r *schema.Record, run string) {
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
	if e.kind.Describes() {
		c.described = true
		if e.imported && r.Started && !c.start.OK || !e.imported && (r.Started || !c.startSent) {
			c.start, c.startSent, c.imported = r.Start, r.Started, e.imported
		}
	}
	var rec schema.Recording
	switch {
	case e.kind == schema.KindDetail:
		in.details++
	case e.kind == schema.KindRecording && json.Unmarshal(r.Body, &rec) == nil && rec.CallStart != nil: // possibly years back
		c.near = schema.Some(*rec.CallStart)
	}
}
