package sink

import (
	"cmp"
	"errors"
	"slices"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// inOrder visits old rows and new records in their common order: each row, with its record if it has
// one, and each record without a row.
func inOrder[O, N any](each func(visit func(*O) error) error, records []*N, compare func(*N, *O) int, visit func(*O, *N) error) error {
	err := each(func(old *O) error {
		for len(records) > 0 {
			now := records[0]
			order := compare(now, old)
			if order > 0 {
				break
			}
			records = records[1:]
			if order == 0 {
				return visit(old, now)
			}
			if err := visit(nil, now); err != nil {
				return err
			}
		}
		return visit(old, nil)
	})
	for _, now := range records {
		if err == nil {
			err = visit(nil, now)
		}
	}
	return err
}

// merger rewrites a unit. Whatever the size of the period, it holds only one call at a time, and
// the Parquet writers' open row groups.
type merger struct {
	m       *maker
	u       *unit
	w       *periodWriter
	slots   []*slot // memory for the records of one call
	used    int     // of slots
	spelled bool    // the region of national numbers changed
	changed int     // rows that differ from the old ones
	stats   Stats
}

// slot is memory into which a record is decoded.
type slot struct {
	call calls.Call
	dec  calls.Decoder
}

// slot returns memory for a record, which stays valid until the next call is visited.
func (r *merger) slot() *slot {
	if r.used == len(r.slots) {
		r.slots = append(r.slots, new(slot))
	}
	r.used++
	return r.slots[r.used-1]
}

// writeUnit merges a unit's changes into its period. If nothing changed, it leaves no file.
func (m *maker) writeUnit(u *unit) error {
	w := &periodWriter{dataFiles: newDataFiles(m.b, u.period, schema.CallTables...).ReadIn(m.country)}
	r := &merger{m: m, u: u, w: w}
	// The national numbers of some of its files were read in another region.
	r.spelled = slices.ContainsFunc(u.from, func(period string) bool { return m.readElsewhere(schema.Calls.Name, period) })
	from := u.from
	if _, to := boundsOf(u.period); m.keepFrom > 0 && to <= m.keepFrom { // nothing stays, so none of it is read
		for _, f := range m.old.Files(schema.Calls.Name) {
			if slices.Contains(from, f.Period) {
				r.stats.Aged += f.Rows
			}
		}
		from, u.changes = nil, nil
	}
	old := newSources(m.old, from)
	err := inOrder(old.Each, u.changes, func(ch *change, was *calls.Call) int {
		return compareKey(ch.start, ch.id, was.StartAt(), string(was.ID()))
	}, r.visit)
	err = m.finish(w.dataFiles, u.from, r.changed > 0 || len(u.from) == 0 || u.always, errors.Join(err, old.Close()))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made.Stats = m.made.Add(r.stats)
	return err
}

// visit writes a call, which has an old row, new records, or both.
func (r *merger) visit(was *calls.Call, ch *change) (err error) {
	if was != nil && r.m.progress != nil {
		r.m.progress(1)
	}
	now, unchanged := was, false
	switch {
	case ch != nil:
		r.used = 0
		if now, err = r.fold(cmp.Or(was, ch.old), ch); err != nil || now == nil {
			return err
		}
		if was != nil && r.same(was, now, ch) {
			now = was
		} else {
			r.changed++
		}
	case r.u.leaving[string(was.ID())]:
		now = nil
	default:
		unchanged = !r.touch(now)
	}
	if now == nil || r.m.aged(now) {
		if was != nil {
			r.changed++
			if r.m.aged(was) {
				r.stats.Aged++
			}
		}
		return nil
	}
	// The columns derived from the call's numbers may change.
	if (!unchanged || r.u.moved) && r.m.lines.setSides(now) && was != nil {
		r.changed++
	}
	return r.w.Write(now, unchanged)
}

// same reports whether the new records of a call change nothing that is stored.
func (r *merger) same(was, now *calls.Call, ch *change) bool {
	return calls.Same(was, now) && !ch.lacksTranscript(now) && was.InBulk() == now.InBulk() &&
		(!r.m.links || !now.RecordingDue() || calls.SameLink(was, now))
}

// touch changes a call without new records that may have to change nevertheless, and reports whether
// it may have changed.
func (r *merger) touch(call *calls.Call) bool {
	redactor, overdue := r.m.redactor, r.m.overdue(call)
	if redactor != nil && redactor.Object(&call.Object) {
		r.changed++
	}
	if overdue {
		call.Settle(r.m.now.UnixMilli())
		r.changed++
	}
	return overdue || redactor != nil || r.spelled
}

// overdue reports whether a call has expired since it was written.
func (m *maker) overdue(call *calls.Call) bool {
	return m.settles && call.Unsettled() && call.ExpiresAt() <= m.now.UnixMilli()
}

// fold merges the new records of a call into its known state, which may be nil, and counts it. It
// returns nil if no record describes the call.
func (r *merger) fold(old *calls.Call, ch *change) (*calls.Call, error) {
	cur := old
	for _, e := range ch.entries {
		next, fetchedAt, err := r.read(ch, e, cur)
		if err != nil {
			return nil, err
		}
		if next == nil {
			continue
		}
		switch {
		case e.kind == schema.KindRecording:
		case cur != nil && e.imported && outdated(cur, next, fetchedAt):
			next = withTranscript(cur, next)
		default:
			calls.Merge(cur, next, e.kind)
		}
		if e.kind == schema.KindBulk && next.InBulk() && !cur.InBulk() {
			r.stats.took(next)
		}
		next.Settle(r.m.now.UnixMilli())
		cur = next
	}
	if old != nil && cur.OptedOut() && old.RecordingDue() && (r.m.links || r.m.was.Archive != "") {
		cur.SuspectRecording()
	}
	if cur == nil {
		return nil, nil
	}
	if cur.StartAt() != ch.start { // the record that decided the call's place was not taken
		cur = cur.Copy()
		cur.SetStartAt(ch.start)
	}
	if ch.described || slices.ContainsFunc(ch.entries, func(e entry) bool { return e.kind != schema.KindRecording }) {
		r.stats.folded(old, cur, ch.run)
	}
	return cur, nil
}

// read decodes one of a call's records. It returns nil for a record that adds nothing: of a call in
// no list, of an untrusted page of v2, with texts not checked, or one that cannot be decoded.
func (r *merger) read(ch *change, e entry, cur *calls.Call) (call *calls.Call, fetchedAt int64, err error) {
	rec, err := r.m.in.frames.Record(e.framePlace, e.line)
	if err != nil || cur == nil && !e.kind.Describes() || e.kind == schema.KindBulk && r.m.refused() {
		return nil, 0, err
	}
	run := r.m.in.frames.Segments[e.Segment].Run
	if r.m.masker != nil && run != r.m.runID { // the journal of an earlier run may be older than the mask
		var storable bool
		if storable, err = cleanRecord(r.m.masker, &rec); err == nil && !storable {
			return nil, 0, nil
		}
	}
	slot := r.slot()
	call = &slot.call
	switch {
	case err != nil:
	case e.kind == schema.KindRecording:
		call = new(calls.Call)
		err = calls.Archived(cur, call, rec.Body)
	case e.kind.Bodiless():
		call = calls.NewCall(ch.id)
	default:
		err = slot.dec.Decode(rec.Body, e.kind, call)
	}
	if err != nil {
		r.m.lose(run, ch.id, err)
		return nil, 0, nil
	}
	switch {
	case e.kind == schema.KindRecording:
		r.stats.archived(call)
		return call, rec.FetchedAt, nil
	case e.kind == schema.KindMissing:
		r.stats.Missing++
	case e.kind == schema.KindDetail && (cur == nil || !cur.InBulk()), e.imported: // a transcript of v2 was counted when it arrived
		r.stats.took(call)
	}
	if e.imported { // a run counted this when the record arrived
		r.stats.drifted(slot.dec.Drift)
	}
	call.Fetched(rec.FetchedAt, rec.FetchedAt, []byte(ch.run))
	return call, rec.FetchedAt, nil
}

// lacksTranscript reports whether a call's own record was requested and brought no turns. The time
// of that request must then be stored, since the record is requested again later.
func (ch *change) lacksTranscript(call *calls.Call) bool {
	return call.TurnCount().V == 0 && slices.ContainsFunc(ch.entries, func(e entry) bool {
		switch e.kind {
		case schema.KindDetail, schema.KindBulk, schema.KindMissing, schema.KindUnreadable:
			return true
		}
		return false
	})
}

// outdated reports whether an imported record may be older than what is known of its call. Nobody knows
// for certain how old it is: an export may have been made while the call went on, and saved later.
func outdated(known, next *calls.Call, fetchedAt int64) bool {
	start, sent := known.StartAt(), next.StartAt()
	switch {
	case known.EndAt().OK && !next.EndAt().OK:
		return true
	case !start.OK && sent.OK: // known before it began
		return false
	}
	return known.FetchedAt() > fetchedAt || known.Over() && !next.Over() || next.CarriesStart() && sent != start ||
		next.Turns().Len() < known.Turns().Len() && next.Turns().Len() > 0
}

// withTranscript returns a known call, with the transcript of an outdated record if it has none.
func withTranscript(known, outdated *calls.Call) *calls.Call {
	call := known.Copy()
	if outdated.Turns().Len() > 0 && known.Turns().Len() == 0 && !known.OptedOut() {
		call.TakeTranscript(outdated)
		call.Fetched(known.FirstSeenAt(), known.FetchedAt(), outdated.RunID())
	}
	return call
}
