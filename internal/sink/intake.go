package sink

import (
	"encoding/json"
	"fmt"

	"callhouse/internal/schema"
)

// cachedLines bounds the decoded journal frames that a commit keeps.
const cachedLines = 8 << 20

// intake is what the journal holds for one commit, sorted out by call. It keeps
// places, not bodies, so its size goes with the number of records.
type intake struct {
	frames  frameCache
	changes map[string]*change
	covered []schema.Span
	last    int64 // the latest fetched_at
	details int64
}

// change is what came in for one call.
type change struct {
	id      string
	run     string
	first   int64             // the first record's fetched_at
	start   schema.Opt[int64] // start_at as last told
	told    bool              // whether any record told a start_at, null or not
	entries []entry           // in the order in which they came
	old     *schema.Call      // the row that it replaces, when that lies elsewhere
}

// entry is the place of a record.
type entry struct {
	frame frameKey
	line  int32
	kind  schema.Kind
}

// readIntake reads the given sealed segments, without what they say of calls
// that were forgotten.
func readIntake(fsys FS, root string, refs []segmentRef, forgotten *tombstones) (*intake, error) {
	in := &intake{changes: map[string]*change{}, frames: frameCache{limit: cachedLines}}
	var dec schema.Decoder
	var call schema.Call
	for i, ref := range refs {
		s, err := openSegment(fsys, root, ref)
		if err != nil {
			return nil, closing(err, in.frames.close)
		}
		in.frames.segments = append(in.frames.segments, s)
		err = s.scan(func(frame int64, line int, r *schema.Record) error {
			in.last = max(in.last, r.FetchedAt)
			if r.Kind == schema.KindCovered {
				var span schema.Span
				if err := json.Unmarshal(r.Body, &span); err != nil {
					return fmt.Errorf("read a covered span from the journal: %w", err)
				}
				in.covered = append(in.covered, span)
				return nil
			}
			c := in.changes[r.CallID]
			if c == nil && forgotten.forgot(r.CallID) {
				return nil
			}
			if c == nil {
				c = &change{id: r.CallID, first: r.FetchedAt}
				in.changes[r.CallID] = c
			}
			c.run = ref.run
			if r.Kind == schema.KindItem || r.Kind == schema.KindDetail {
				if err := dec.Decode(r.Body, r.Kind, &call); err != nil {
					return fmt.Errorf("read call %q from the journal: %w", r.CallID, err)
				}
				c.start, c.told = call.StartAt, true
			}
			if r.Kind == schema.KindDetail {
				in.details++
			}
			c.entries = append(c.entries, entry{frame: frameKey{int32(i), frame}, line: int32(line), kind: r.Kind})
			return nil
		})
		if err != nil {
			return nil, closing(err, in.frames.close)
		}
	}
	return in, nil
}
