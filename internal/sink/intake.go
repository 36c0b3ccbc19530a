package sink

import (
	"encoding/json"
	"errors"
	"fmt"

	"callhouse/internal/schema"
)

// cachedLines bounds the decoded journal frames that a commit keeps.
const cachedLines = 4 << 20

// intake is what came in for one commit, sorted out by call. It keeps places,
// not bodies, so its size goes with the number of records.
type intake struct {
	frames  frameCache // of the journal
	parts   []*part    // of dumps
	changes map[string]*change
	covered []covered
	broken  []loss
	details int64

	forgotten *tombstones
	// exact says that every body is decoded to learn its start. Otherwise a look
	// at it is enough, and the merge, which decodes it, says where that misled.
	exact bool
	dec   schema.Decoder
	call  schema.Call
	slab  []change
}

// covered is a span of the list that a run says it has listed completely.
type covered struct {
	schema.Span
	run string
}

// errMisread says that a record is not what a look at it made of it: the
// commit begins anew, with an exact intake.
var errMisread = errors.New("a record is not what it looked like")

// change is what came in for one call.
type change struct {
	id      string
	run     string
	first   int64             // the first record's fetched_at
	start   schema.Opt[int64] // start_at as last told
	told    bool              // whether any record told a start_at, null or not
	asOf    int64             // of dumps: when start was as told, at the latest; 0: a run told it
	entries []entry           // in the order in which they came
	room    [1]entry          // for entries, as long as there is one
	old     *schema.Call      // the row that it replaces, when that lies elsewhere
}

// entry is the place of a record: in the journal, or in a dump.
type entry struct {
	at   int64 // where its frame starts in the segment, or its line in the dump
	in   int32 // which segment; of a dump, ^in is which part
	line int32 // where its line starts in the frame, or how long it is
	kind schema.Kind
}

func newIntake(forgotten *tombstones, exact bool) *intake {
	return &intake{changes: map[string]*change{}, frames: frameCache{limit: cachedLines}, forgotten: forgotten, exact: exact}
}

// readIntake reads the given sealed segments, without what they say of calls
// that were forgotten.
func readIntake(fsys FS, root string, refs []segmentRef, forgotten *tombstones, exact bool) (*intake, error) {
	in := newIntake(forgotten, exact)
	for i, ref := range refs {
		s, err := openSegment(fsys, root, ref)
		if err != nil {
			return nil, closing(err, in.close)
		}
		in.frames.segments = append(in.frames.segments, s)
		broken, err := s.scan(isLast(refs, i), func(frame int64, line int, r *schema.Record) error {
			if r.Kind == schema.KindCovered {
				var span schema.Span
				if err := json.Unmarshal(r.Body, &span); err != nil {
					return fmt.Errorf("%w: a covered span: %w", errUnreadable, err)
				}
				in.covered = append(in.covered, covered{span, ref.run})
				return nil
			}
			at := entry{at: frame, in: int32(i), line: int32(line), kind: r.Kind}
			if r.Kind == schema.KindMissing {
				in.add(at, []byte(r.CallID), schema.Opt[int64]{}, r.FetchedAt, ref.run)
				return nil
			}
			_, start, err := in.look(r.Body, r.Kind)
			if err != nil {
				return fmt.Errorf("%w: call %q: %w", errUnreadable, r.CallID, err)
			}
			in.add(at, []byte(r.CallID), start, r.FetchedAt, ref.run)
			return nil
		})
		if err != nil {
			return nil, closing(err, in.close)
		}
		for _, what := range broken {
			in.broken = append(in.broken, loss{ref.run, what})
		}
	}
	return in, nil
}

// look returns the id and the start of a call from its JSON.
func (in *intake) look(body []byte, kind schema.Kind) (id []byte, start schema.Opt[int64], err error) {
	if !in.exact {
		if id, start, ok := schema.Peek(body); ok {
			return id, start, nil
		}
	}
	if err := in.dec.Decode(body, kind, &in.call); err != nil {
		return nil, start, err
	}
	return in.call.ID(), in.call.StartAt(), nil
}

// add notes a record, unless its call was forgotten.
func (in *intake) add(e entry, id []byte, start schema.Opt[int64], fetched int64, run string) {
	c := in.changes[string(id)]
	if c == nil {
		text := string(id)
		if in.forgotten.forgot(text) {
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
	c.run = run
	if e.dumped() && fetched < c.asOf {
		c.entries = append(c.entries, e) // what it tells is older
		return
	}
	if e.kind == schema.KindItem || e.kind == schema.KindDetail {
		c.start, c.told = start, true
	}
	if e.dumped() {
		c.asOf = fetched
	}
	if e.kind == schema.KindDetail {
		in.details++
	}
	c.entries = append(c.entries, e)
}

// record returns the record at a place. Its body lies in room, where that is
// the body of a dump, and else in the frames' memory, which stays as it is.
func (in *intake) record(e entry, id string, room *[]byte) (schema.Record, error) {
	if e.in >= 0 {
		return in.frames.record(frameKey{e.in, e.at}, e.line)
	}
	p := in.parts[^e.in]
	if cap(*room) < int(e.line) {
		*room = make([]byte, int(e.line)+int(e.line)/4)
	}
	body := (*room)[:e.line]
	if _, err := p.file.ReadAt(body, e.at); err != nil {
		return schema.Record{}, fmt.Errorf("read %s: %w", p.name, err)
	}
	return schema.Record{Kind: e.kind, CallID: id, FetchedAt: p.asOf, Body: body}, nil
}

// dumped says whether a record is of a dump, and not of a run's journal.
func (e entry) dumped() bool { return e.in < 0 }

// close closes the journal's segments; the dumps are their owner's.
func (in *intake) close() error { return in.frames.close() }
