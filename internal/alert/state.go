// Package alert decides when a message about a rule is due, and keeps messages until they are sent.
// Its state is a file next to the warehouse's tables, with the running alerts and the unsent
// messages. A change of the state and the resulting messages are written together, before anything
// is sent. The package reads no calls and does not depend on any channel.
package alert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// version is the version of the state's format. Other versions are refused.
const version = 1

// State holds the running alerts and the unsent messages.
type State struct {
	Version   int              `json:"version"`
	CheckedAt time.Time        `json:"checked_at"` // when the rules were last evaluated
	Snapshot  int64            `json:"snapshot"`   // that they were evaluated over
	Rules     map[string]*Rule `json:"rules"`
	Outbox    []*Message       `json:"outbox"`
	Lost      []Lost           `json:"lost,omitempty"`   // in the last week
	Missed    *Missed          `json:"missed,omitempty"` // the latest attempt to evaluate the rules failed
}

// Missed is an attempt to evaluate the rules that failed before any was evaluated.
type Missed struct {
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// Rule is the state of a rule.
type Rule struct {
	Definition string            `json:"definition"`      // a hash; an edited rule starts with an empty state
	Error      string            `json:"error,omitempty"` // why it could not be evaluated
	Waits      bool              `json:"waits,omitempty"` // only because its calls are not all listed yet
	Groups     map[string]*Group `json:"groups"`
}

// Group is the state of a rule for one group of calls.
type Group struct {
	Window time.Time `json:"window"`          // end of the last judged window
	Alert  *Alert    `json:"alert,omitempty"` // nil: none is running
}

// Alert is a running alert.
type Alert struct {
	ID    string    `json:"id"`
	Since time.Time `json:"since"` // start of the first window in which the condition was met
	Last  Item      `json:"last"`  // as of the latest reading
}

// Lost is a message that was not sent, or whose delivery is unknown.
type Lost struct {
	ID      string    `json:"id"`
	Rule    string    `json:"rule"`
	Event   Event     `json:"event"`
	Channel string    `json:"channel"`
	At      time.Time `json:"at"`
	Why     string    `json:"why"`
}

// remembered is how long lost messages are shown.
const remembered = 7 * 24 * time.Hour

// LockedError reports that another process is evaluating the rules of this warehouse.
type LockedError struct{ Root string }

func (e *LockedError) Error() string {
	return "another query alert is running over " + e.Root
}

// Store holds the state of a warehouse and its lock.
type Store struct {
	State
	root string
	fsys disk.FS
	lock *disk.Hold
}

// Open locks and reads the state of the warehouse at root. It returns a *LockedError if another
// process holds it.
func Open(root string) (_ *Store, err error) {
	fsys, err := disk.Open(root)
	if err != nil {
		return nil, fmt.Errorf("open the state of alerts: %w", err)
	}
	lock := filepath.Join(root, layout.AlertLockName)
	if err = disk.CheckPlain(fsys, lock); err != nil {
		return nil, fmt.Errorf("open the state of alerts: %w", err)
	}
	s := &Store{root: root, fsys: fsys, lock: disk.NewHold(lock)}
	ok, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the state of alerts: %w", err)
	}
	if !ok {
		return nil, &LockedError{root}
	}
	if s.State, err = read(fsys, root); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Miss records that the rules were not evaluated, unless that happened after the attempt began.
// Another process may be evaluating them: that is an error.
func Miss(root string, began, now time.Time, why string) error {
	s, err := Open(root)
	if err != nil {
		return err
	}
	if s.CheckedAt.Before(began) {
		s.Missed = &Missed{now.UTC(), clip(why)}
		err = s.Save()
	}
	return errors.Join(err, s.Close())
}

// Read returns the state of the warehouse at root, without the lock; nil if it was never tried to
// evaluate rules.
func Read(root string) (*State, error) {
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return nil, fmt.Errorf("read the state of alerts: %w", err)
	}
	s, err := read(fsys, root)
	if err != nil || s.CheckedAt.IsZero() && s.Missed == nil {
		return nil, err
	}
	return &s, nil
}

func read(fsys disk.FS, root string) (State, error) {
	s := State{Version: version, Rules: map[string]*Rule{}}
	path := filepath.Join(root, layout.AlertsName)
	raw, err := fsys.ReadFile(path)
	if disk.IsGone(err) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("read the state of alerts: %s: %w", path, err)
	case s.Version != version:
		return s, fmt.Errorf("read the state of alerts: %s has format version %d, this program reads version %d", path, s.Version, version)
	}
	return s, nil
}

// Save writes the state durably.
func (s *Store) Save() error {
	raw, err := json.MarshalIndent(&s.State, "", " ")
	if err == nil {
		path := filepath.Join(s.root, layout.AlertsName)
		// Not a temporary name of the sink, which removes those left by killed runs.
		err = disk.Replace(s.fsys, filepath.Join(s.root, layout.NewAlertsName), path, append(raw, '\n'), true)
	}
	if err != nil {
		return fmt.Errorf("write the state of alerts: %w", err)
	}
	return nil
}

// Close releases the lock.
func (s *Store) Close() error { return s.lock.Close() }

// Keep removes the rules that no longer exist, and old entries of lost messages.
func (s *State) Keep(rules []string, now time.Time) {
	maps.DeleteFunc(s.Rules, func(name string, _ *Rule) bool { return !slices.Contains(rules, name) })
	s.Lost = slices.DeleteFunc(s.Lost, func(l Lost) bool { return now.Sub(l.At) > remembered })
}

// Count returns the number of running alerts.
func (s *State) Count() (n int64) {
	for _, r := range s.Rules {
		for _, g := range r.Groups {
			if g.Alert != nil {
				n++
			}
		}
	}
	return n
}
