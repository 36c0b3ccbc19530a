package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"callhouse/internal/layout"
)

// Holder says who writes to a warehouse.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	RunID string    `json:"run_id"`
	Since time.Time `json:"since"`
}

// LockedError says that another run holds the warehouse.
type LockedError struct {
	Root   string
	Holder Holder // zero where the holder had not yet written who it is
}

func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("another run holds %s", e.Root)
	}
	return fmt.Sprintf("another run holds %s: process %d on %s since %s", e.Root, e.Holder.PID, e.Holder.Host,
		e.Holder.Since.Format(time.RFC3339))
}

// Spend is one request as the budget remembers it across runs: when it was
// sent, and when the first byte of its answer came (zero: not yet).
type Spend struct{ Sent, Answered time.Time }

// The lock file is text: one line of JSON that says who holds it, padded to
// holderBytes, then a ring of lines of spendBytes, one a request: sent and
// answered, in ns since 1970, 20 digits each. It is advisory and never synced:
// after a power cut nobody's minute is still running.
const (
	holderBytes = 512
	spendBytes  = 42
)

// lock is the hold on a warehouse. It dies with its process.
type lock struct {
	fl   *flock.Flock
	file *os.File
}

// takeLock takes the warehouse's lock, or returns a *LockedError at once.
// It returns what the runs before it lately spent.
func takeLock(root string, h Holder) (*lock, []Spend, error) {
	path := filepath.Join(root, layout.LockName)
	fl := flock.New(path, flock.SetPermissions(0o600))
	ok, err := fl.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("lock the warehouse: %w", err)
	}
	if !ok {
		e := &LockedError{Root: root}
		if raw, err := os.ReadFile(path); err == nil {
			line, _, _ := bytes.Cut(raw, []byte("\n"))
			_ = json.Unmarshal(line, &e.Holder) // who holds it is a courtesy
		}
		return nil, nil, e
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the lock: %w", err), fl.Unlock())
	}
	l := &lock{fl: fl, file: f}
	spent, err := l.recall()
	if err == nil {
		err = l.write(h)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("write the lock: %w", err), l.release())
	}
	return l, spent, nil
}

// recall reads the ring of the holders before. A damaged line is no spend, and
// one that stands in two places, which a holder noted anew, is one.
func (l *lock) recall() ([]Spend, error) {
	raw, err := io.ReadAll(l.file)
	if err != nil {
		return nil, err
	}
	var out []Spend
	seen := map[int64]int{}
	for at := holderBytes; at+spendBytes <= len(raw); at += spendBytes {
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

// write says who holds the lock now. The ring stays: until the new holder has
// noted what still counts, a kill must not make it forgotten.
func (l *lock) write(h Holder) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(line) >= holderBytes {
		line = []byte("{}")
	}
	line = append(line, bytes.Repeat([]byte(" "), holderBytes-1-len(line))...)
	_, err = l.file.WriteAt(append(line, '\n'), 0)
	return err
}

// note writes one spend into the ring.
func (l *lock) note(slot int, s Spend) error {
	var answered int64
	if !s.Answered.IsZero() {
		answered = s.Answered.UnixNano()
	}
	line := fmt.Sprintf("%020d %020d\n", s.Sent.UnixNano(), answered)
	_, err := l.file.WriteAt([]byte(line), int64(holderBytes+slot*spendBytes))
	return err
}

// release lets the warehouse go. The file stays: its ring outlives the run.
func (l *lock) release() error { return errors.Join(l.file.Close(), l.fl.Unlock()) }
