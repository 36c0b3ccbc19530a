package sink

import (
	"errors"
	"io/fs"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// History is the state of a warehouse that can be read without the lock and without reading calls.
type History struct {
	Snapshot      *layout.Snapshot // nil if nothing is committed
	SnapshotCount int              // snapshots on the disk
	Runs          []schema.Run     // the table runs, and the runs that could not write their rows
	Holder        disk.Holder      // current or last holder
	Held          bool
	// Journal is the number of fetched, uncommitted bytes on the disk.
	Journal int64
	// Verdict is the result of the last verification; nil if there was none.
	Verdict *Verdict
	// Undeleted counts the forgotten calls whose recording is still to be deleted, if this user may
	// read the list, which is private.
	Undeleted int64
	lost      []disk.Lost
}

// IsLost reports whether a run after the last commit could not write its row.
func (h *History) IsLost(run string) bool {
	return slices.ContainsFunc(h.lost, func(l disk.Lost) bool { return l.RunID == run })
}

// ReadHistory reads the history of a warehouse's runs. It changes nothing, and may be called during
// a run. A warehouse without a commit is not an error. Errors are a *DamageError or a
// *layout.VersionError.
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
	if h.Snapshot, err = currentSnapshot(fsys, root); err != nil {
		return nil, err
	}
	if h.Journal, err = journalSize(fsys, root); err != nil {
		return nil, err
	}
	h.Verdict = lastVerdict(fsys, root)
	list, err := readDeletions(fsys, root)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	of := map[string]bool{}
	for _, d := range list {
		of[d.CallID] = true
	}
	h.Undeleted = int64(len(of))
	if h.Snapshot != nil {
		numbers, err := layout.SnapshotNumbers(fsys, root)
		if err != nil {
			return nil, err
		}
		h.SnapshotCount = len(numbers)
		if h.Runs, err = NewReader(fsys, h.Snapshot, nil).Runs(); err != nil {
			return nil, err
		}
	}
	h.addLost()
	return h, nil
}

// addLost adds the rows that runs could not write, and completes the rows of killed runs.
func (h *History) addLost() {
	lost := h.Holder.Lost
	if h.Holder.Records && !h.Holder.Released && !h.Held {
		lost = append(lost, disk.Lost{RunID: h.Holder.RunID, Follow: h.Holder.Follow != nil})
	}
	running := ""
	if h.Held {
		running = h.Holder.RunID
	}
	h.lost = lost
	h.Runs = closeRuns(h.Runs, lostRuns(lost), running)
}
