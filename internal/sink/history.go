package sink

import (
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// History is what can be told of a warehouse without its lock, and without a
// look into its calls.
type History struct {
	Snapshot *layout.Snapshot // nil: nothing is committed yet
	Kept     int              // snapshots on the disk
	Runs     []schema.Run     // the table runs, and those that could not write their rows into it
	Holder   Holder           // who has the warehouse, or had it last
	Held     bool
	// Journal is how many bytes are fetched and not committed, as they lie on the
	// disk.
	Journal int64
	lost    []Lost
}

// IsLost reports whether a run could not write its row: it came after the last
// commit.
func (h *History) IsLost(run string) bool {
	return slices.ContainsFunc(h.lost, func(l Lost) bool { return l.RunID == run })
}

// ReadHistory reads what a warehouse tells of its runs. It changes nothing, and
// may be read beside a run. A warehouse that nothing was committed to is no
// error; a *DamageError and a *layout.VersionError are.
func ReadHistory(root string) (*History, error) {
	h := new(History)
	fsys, err := openToRead(root)
	if isGone(err) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	if h.Holder, h.Held, err = Who(root); err != nil {
		return nil, err
	}
	if h.Snapshot, err = readCurrent(fsys, root); err != nil {
		return nil, err
	}
	refs, _, err := listJournal(fsys, root)
	if err != nil && !isGone(err) {
		return nil, err
	}
	for _, ref := range refs {
		if f, err := fsys.Open(ref.path(root)); err == nil { // it may be committed just now
			if st, err := f.Stat(); err == nil {
				h.Journal += st.Size()
			}
			_ = f.Close()
		}
	}
	if h.Snapshot != nil {
		numbers, err := snapshotNumbers(fsys, root)
		if err != nil {
			return nil, err
		}
		h.Kept = len(numbers)
		if h.Runs, err = (&commit{fsys: fsys, old: h.Snapshot}).readRuns(); err != nil {
			return nil, err
		}
	}
	h.tellLost()
	return h, nil
}

// tellLost adds the rows that runs could not write, and closes those of runs
// that were killed.
func (h *History) tellLost() {
	lost := h.Holder.Lost
	if h.Holder.Records && !h.Holder.Released && !h.Held {
		lost = append(lost, Lost{RunID: h.Holder.RunID})
	}
	goesOn := ""
	if h.Held {
		goesOn = h.Holder.RunID
	}
	h.lost = lost
	h.Runs = closeLost(h.Runs, lostRuns(lost), goesOn)
}
