package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"callhouse/internal/layout"
)

// Holder describes the current or last writer of a warehouse.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	RunID string    `json:"run_id"`
	Since time.Time `json:"since"`
	// Records means that this holder gets a row in the table runs.
	Records bool `json:"records,omitempty"`
	// Follow means that it follows the service; nil: it does not.
	Follow *Follow `json:"follow,omitempty"`
	// Released means that the holder released the warehouse. A holder that did not was killed.
	Released bool `json:"released,omitempty"`
	// Lost are runs that could not write their rows, oldest first.
	Lost []Lost `json:"lost,omitempty"`
}

// Lost is a run that could not write its row of the table runs.
type Lost struct {
	RunID   string `json:"run_id"`
	Error   string `json:"error,omitempty"` // empty if it was killed
	Problem string `json:"problem,omitempty"`
	Follow  bool   `json:"follow,omitempty"` // it followed the service
}

// Follow is how a process follows the service. Times are ms since 1970 UTC.
type Follow struct {
	Polled   int64 `json:"polled,omitempty"`   // the last successful poll
	Requests int64 `json:"requests,omitempty"` // since it took the lock
	Sweep    int64 `json:"sweep,omitempty"`    // time of the next sweep
	// Failing is the time since which the service has been failing, and Error the last failure; 0:
	// it is not.
	Failing int64  `json:"failing,omitempty"`
	Error   string `json:"error,omitempty"`
}

// LockedError means that another run holds the warehouse.
type LockedError struct {
	Root   string
	Holder Holder // zero if the holder had not yet written its details
}

func (e *LockedError) Error() string {
	who := "another run"
	if e.Holder.PID == 0 {
		return fmt.Sprintf("%s holds %s", who, e.Root)
	}
	if e.Holder.Follow != nil {
		who = "extract follow"
	}
	return fmt.Sprintf("%s holds %s: process %d on %s since %s", who, e.Root, e.Holder.PID, e.Holder.Host,
		e.Holder.Since.Format(time.RFC3339))
}

// Spend is one request in the budget across runs: when it was sent, and when the first byte of its
// answer arrived (zero: not yet).
type Spend struct{ Sent, Answered time.Time }

// spendBytes is the length of a line of the file of requests, a ring with one line per request: sent
// and answered, in ns since 1970, 20 digits each. It is advisory and never synced: after a power
// cut, all minutes of the budget have passed.
const spendBytes = 42

// TakeLock retries for this long: other programs take the lock briefly, and a new holder takes a
// moment to write its details.
const (
	lockTries = 50
	lockPause = 2 * time.Millisecond
)

// Lock is the lock on a warehouse. It ends with its process.
type Lock struct {
	fl       *Hold
	root     string
	requests *os.File
	holder   Holder
}

// TakeLock takes the warehouse's lock, or returns a *LockedError at once. It also returns the
// recent requests of earlier runs. A run that ended without a row in the table runs is added to the
// new holder's Lost.
func TakeLock(root string, h Holder) (_ *Lock, _ []Spend, err error) {
	path := filepath.Join(root, layout.LockName)
	requests := filepath.Join(root, layout.RequestsName)
	if err := checkPlain(root, path, requests); err != nil {
		return nil, nil, fmt.Errorf("lock the warehouse: %w", err)
	}
	l := &Lock{fl: NewHold(path), root: root}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Drop())
		}
	}()
	before, err := l.take()
	if err != nil {
		return nil, nil, err
	}
	h.Lost = before.Lost
	if before.Records && !before.Released {
		h.Lost = append(h.Lost, Lost{RunID: before.RunID, Follow: before.Follow != nil})
	}
	if l.requests, err = os.OpenFile(requests, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, nil, fmt.Errorf("open the requests of earlier runs: %w", err)
	}
	l.holder = h
	spent, err := l.recall()
	if err == nil {
		err = l.write()
	}
	if err != nil && !IsNoSpace(err) { // the state is advisory, and a command that frees space must run
		return nil, nil, err
	}
	return l, spent, nil
}

// take waits briefly until the lock is free, and returns its previous holder.
func (l *Lock) take() (before Holder, err error) {
	for try := 0; ; try++ {
		ok, err := l.fl.TryLock()
		if path := (*fs.PathError)(nil); err != nil && !errors.As(err, &path) { // it could be opened
			err = cannot(l.root, "lock files (flock)", err)
		}
		if err != nil {
			return Holder{}, fmt.Errorf("lock the warehouse: %w", err)
		}
		before = readHolder(l.root)
		switch {
		case ok:
			return before, nil
		case before.PID != 0 && !before.Released:
			return Holder{}, &LockedError{Root: l.root, Holder: before}
		case try == lockTries:
			return Holder{}, &LockedError{Root: l.root}
		}
		time.Sleep(lockPause)
	}
}

// checkPlain checks that paths in a warehouse's folder are plain.
func checkPlain(root string, paths ...string) error {
	d, err := open(root)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, path := range paths {
		if err := CheckPlain(d, path); err != nil {
			return err
		}
	}
	return nil
}

// CheckPlain checks that a name is unused or a regular file, because nothing is written through a
// link.
func CheckPlain(fsys FS, path string) error {
	info, err := fsys.Lstat(path)
	if IsGone(err) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = &layout.DamageError{Path: path, What: "it is not a regular file"}
	}
	return err
}

// readHolder returns the holder in a warehouse's state, or the zero Holder.
func readHolder(root string) (h Holder) {
	raw, err := os.ReadFile(filepath.Join(root, layout.StateName))
	if err != nil || json.Unmarshal(raw, &h) != nil {
		return Holder{}
	}
	return h
}

// Who returns the current or last holder of the warehouse at root, and whether it still holds the
// warehouse. It changes nothing.
func Who(root string) (h Holder, held bool, err error) {
	path := filepath.Join(root, layout.LockName)
	err = checkPlain(root, path)
	if IsGone(err) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("read the lock: %w", err)
	}
	probe := ProbeHold(path)
	free, err := probe.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err == nil && free {
		err = probe.Unlock()
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("read the lock: %w", err)
	}
	return readHolder(root), !free, nil
}

// recall reads the ring. A damaged line is skipped, and a request that occurs twice counts once.
func (l *Lock) recall() ([]Spend, error) {
	raw, err := io.ReadAll(l.requests)
	if err != nil {
		return nil, fmt.Errorf("read the requests of earlier runs: %w", err)
	}
	var out []Spend
	seen := map[int64]int{}
	for at := 0; at+spendBytes <= len(raw); at += spendBytes {
		var sent, answered int64
		if n, _ := fmt.Sscanf(string(raw[at:at+spendBytes]), "%d %d", &sent, &answered); n == 2 && sent > 0 {
			s := Spend{Sent: time.Unix(0, sent)}
			if answered > 0 {
				s.Answered = time.Unix(0, answered)
			}
			if i, ok := seen[sent]; ok {
				if out[i].Answered.IsZero() {
					out[i] = s
				}
				continue
			}
			seen[sent] = len(out)
			out = append(out, s)
		}
	}
	return out, nil
}

// write writes the state: atomically, but not synced, since it matters only while the machine runs. On
// a full disk it uses the blocks of the old state; if they do not suffice, the old state stays.
func (l *Lock) write() error {
	raw, err := json.Marshal(l.holder)
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	path, temp := filepath.Join(l.root, layout.StateName), filepath.Join(l.root, layout.TempName(layout.StateName, NewID()))
	if err = os.WriteFile(temp, raw, 0o600); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	if before, unread := os.ReadFile(path); IsNoSpace(err) && unread == nil {
		if err = rewrite(path, raw); err != nil {
			_ = rewrite(path, before)
		}
	}
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return nil
}

// rewrite replaces the content of a file in place.
func rewrite(path string, raw []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(raw, 0)
	return errors.Join(err, f.Truncate(int64(len(raw))), f.Close())
}

// Lost returns the runs without a row.
func (l *Lock) Lost() []Lost { return l.holder.Lost }

// SetLost sets the runs without a row.
func (l *Lock) SetLost(lost []Lost) error {
	l.holder.Lost = lost
	return l.write()
}

// SetFollow stores how the holder follows the service.
func (l *Lock) SetFollow(f Follow) error {
	l.holder.Follow = &f
	return l.write()
}

// Note writes one spend into the ring.
func (l *Lock) Note(slot int, s Spend) error {
	var answered int64
	if !s.Answered.IsZero() {
		answered = s.Answered.UnixNano()
	}
	line := fmt.Sprintf("%020d %020d\n", s.Sent.UnixNano(), answered)
	_, err := l.requests.WriteAt([]byte(line), int64(slot*spendBytes))
	return err
}

// Release releases the warehouse. If the state cannot be written, the next run takes this one for
// killed, but only if it has no row.
func (l *Lock) Release() error {
	l.holder.Released = true
	_ = l.write()
	return l.Drop()
}

// Drop releases the warehouse without recording that, like the end of a process.
func (l *Lock) Drop() error {
	var err error
	if l.requests != nil {
		err = l.requests.Close()
	}
	return errors.Join(err, l.fl.Close())
}

// Hold is a lock on a file.
type Hold = flock.Flock

// NewHold returns a lock on the file at path, not yet taken. Taking it makes the file.
func NewHold(path string) *Hold { return flock.New(path, flock.SetPermissions(0o600)) }

// ProbeHold is like NewHold, but does not create the file, and only reads it.
func ProbeHold(path string) *Hold { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }
