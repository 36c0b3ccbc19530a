package sink

import (
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/commit"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/journal"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/verify"
)

// History is what is known of a warehouse without its lock and without reading calls.
type History struct {
	Snapshot *layout.Snapshot // nil: nothing is committed yet
	Kept     int              // snapshots on the disk
	Runs     []schema.Run     // the table runs, and those that could not write their rows into it
	Holder   disk.Holder      // who has the warehouse, or had it last
	Held     bool
	// Journal is how many bytes on the disk are fetched and not committed.
	Journal int64
	// Verdict is what the last verification found; nil: there was none.
	Verdict *verify.Verdict
	lost    []disk.Lost
}

// IsLost reports whether a run could not write its row: it came after the last
// commit.
func (h *History) IsLost(run string) bool {
	return slices.ContainsFunc(h.lost, func(l disk.Lost) bool { return l.RunID == run })
}

// ReadHistory reads what a warehouse tells of its runs. It changes nothing, and
// may be read beside a run. A warehouse that nothing was committed to is no
// error; a *DamageError and a *layout.VersionError are.
func ReadHistory(root string) (*History, error) {
	h := new(History)
	fsys, err := disk.OpenToRead(root)
	if disk.IsGone(err) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	if h.Holder, h.Held, err = disk.Who(root); err != nil {
		return nil, err
	}
	if h.Snapshot, err = snapshot.Current(fsys, root); err != nil {
		return nil, err
	}
	if h.Journal, err = journal.Size(fsys, root); err != nil {
		return nil, err
	}
	h.Verdict = verify.Last(fsys, root)
	if h.Snapshot != nil {
		numbers, err := snapshot.Numbers(fsys, root)
		if err != nil {
			return nil, err
		}
		h.Kept = len(numbers)
		if h.Runs, err = snapshot.NewReader(fsys, h.Snapshot, nil).Runs(); err != nil {
			return nil, err
		}
	}
	h.addLost()
	return h, nil
}

// addLost adds the rows that runs could not write, and closes those of runs
// that were killed.
func (h *History) addLost() {
	lost := h.Holder.Lost
	if h.Holder.Records && !h.Holder.Released && !h.Held {
		lost = append(lost, disk.Lost{RunID: h.Holder.RunID})
	}
	running := ""
	if h.Held {
		running = h.Holder.RunID
	}
	h.lost = lost
	h.Runs = commit.CloseRuns(h.Runs, commit.LostRuns(lost), running)
}
