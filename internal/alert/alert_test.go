package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/test"
)

var monday = time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)

// reading returns the reading of a group on a day.
func reading(day int, group string, fires, holds bool) Reading {
	to := monday.Truncate(24*time.Hour).AddDate(0, 0, day)
	return Reading{Key: group, Fires: fires, Holds: holds, Item: Item{Group: group, From: to.AddDate(0, 0, -1), To: to, Value: Figure{Text: "1"}}}
}

// week feeds a group's readings of consecutive days (F fires, h holds, . neither, ? not judged),
// and returns the events with their days.
func week(days string) string {
	s, p := State{Rules: map[string]*Rule{}}, Policy{Name: "rule", Definition: "1", Channels: []string{"a"}}
	var out []string
	for day, what := range days {
		var readings []Reading
		if what != '?' {
			readings = append(readings, reading(day, "g", what == 'F', what == 'F' || what == 'h'))
		}
		// The readings come a month late, which ends no alert.
		for _, m := range s.Advance(p, readings, monday.AddDate(0, 0, day), monday.AddDate(0, 1, day)) {
			out = append(out, fmt.Sprint(m.Event, " ", day))
		}
	}
	return strings.Join(out, ", ")
}

func TestAdvance(t *testing.T) {
	for days, want := range map[string]string{
		"..F..":     "started 2, ended 3",
		"..FFhhF.":  "started 2, ended 7",
		".hh.":      "",
		"F?F?.":     "started 0, ended 4",
		"F????????": "started 0, ended 7",
		"F.F.":      "started 0, ended 1, started 2, ended 3",
	} {
		test.Same(t, want, week(days), "%s", days)
	}
}

// Evaluating the same window again reports nothing twice, and the same evaluation produces the same ids.
func TestSameWindowAgain(t *testing.T) {
	p := Policy{Name: "rule", Definition: "1", Channels: []string{"a", "b"}}
	ids := func() (out []string) {
		s := State{Rules: map[string]*Rule{}}
		for range 3 {
			for _, m := range s.Advance(p, []Reading{reading(1, "g", true, true), reading(1, "h", true, true)}, monday.AddDate(0, 0, 1), monday.AddDate(0, 0, 1)) {
				out = append(out, m.ID)
				test.Same(t, 2, len(m.Items), "the items of a message, of both groups")
			}
		}
		return out
	}
	first, second := ids(), ids()
	if len(first) != 2 || first[0] == first[1] || !slices.Equal(first, second) {
		t.Errorf("the ids are %v and %v", first, second)
	}
}

// An edited rule starts afresh, and a removed one is forgotten.
func TestEditedRule(t *testing.T) {
	p := Policy{Name: "rule", Definition: "1", Channels: []string{"a"}}
	s := State{Rules: map[string]*Rule{}}
	s.Advance(p, []Reading{reading(0, "g", true, true)}, monday, monday)
	p.Definition = "2"
	if due := s.Advance(p, []Reading{reading(0, "g", true, true)}, monday, monday); len(due) != 1 || due[0].Event != Started {
		t.Errorf("an edited rule: %v", due)
	}
	s.Fail(p, "it fails", false)
	if s.Count() != 1 || s.Rules["rule"].Error != "it fails" {
		t.Errorf("a failure: %d alerts, %q", s.Count(), s.Rules["rule"].Error)
	}
	if s.Keep(nil, monday); s.Count() != 0 {
		t.Errorf("%d alerts of a rule that is gone", s.Count())
	}
}

// wire is a channel that records, fails or is killed.
type wire struct {
	got     []string
	fail    error
	killAt  int  // the attempt at which the process is killed; 0: none
	arrives bool // whether the message arrives before the kill
	tries   int
}

type killed struct{}

func (w *wire) Send(_ context.Context, m *Message) error {
	w.tries++
	dies := w.tries == w.killAt
	if w.fail != nil {
		return w.fail
	}
	if !dies || w.arrives {
		w.got = append(w.got, m.ID)
	}
	if dies {
		panic(killed{})
	}
	return nil
}

// deliver delivers like a process, which may be killed.
func deliver(t *testing.T, root string, w *wire, now time.Time, add ...*Message) {
	t.Helper()
	s, err := Open(root)
	test.OK(t, err)
	defer s.Close()
	defer func() {
		if r := recover(); r != nil && r != (killed{}) {
			panic(r)
		}
	}()
	if s.Outbox = append(s.Outbox, add...); len(add) > 0 {
		s.CheckedAt = now
		test.OK(t, s.Save())
	}
	_, err = s.Deliver(t.Context(), map[string]Channel{"a": w}, func() time.Time { return now }, func(context.Context, time.Duration) {})
	test.OK(t, err)
}

func messages(n int) (out []*Message) {
	for i := range n {
		out = append(out, &Message{ID: fmt.Sprint("m", i), Channel: "a", Event: Started, Rule: "rule", At: monday})
	}
	return out
}

// A process is killed while sending each of three messages. No message is lost, and at most one
// arrives twice, with the same id.
func TestKilledWhileSending(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		for at := 1; at <= 4; at++ {
			t.Run(fmt.Sprint(arrives, at), func(t *testing.T) {
				root := t.TempDir()
				w := &wire{killAt: at, arrives: arrives}
				deliver(t, root, w, monday, messages(3)...)
				deliver(t, root, w, monday)
				s, err := Read(root)
				test.OK(t, err)
				want := []string{"m0", "m1", "m2"}
				if at <= 3 && arrives {
					want = slices.Insert(want, at, want[at-1])
				}
				if !slices.Equal(w.got, want) || len(s.Outbox) != 0 || len(s.Lost) != 0 {
					t.Errorf("arrived: %v, want %v; %d waiting, lost: %+v", w.got, want, len(s.Outbox), s.Lost)
				}
			})
		}
	}
}

// While a channel is down, messages wait in order, and are dropped after a day.
func TestChannelDown(t *testing.T) {
	root := t.TempDir()
	w := &wire{fail: errors.New("it is down")}
	deliver(t, root, w, monday, messages(2)...)
	w.fail = &RefusedError{Status: 429, After: maxWait}
	deliver(t, root, w, monday.Add(time.Minute))
	test.Same(t, 2*tries, w.tries, "tries while the channel is down")
	w.fail = &RefusedError{Status: 404}
	deliver(t, root, w, monday.Add(time.Hour))
	if s, err := Read(root); err != nil || w.tries != 2*tries+1 || len(s.Outbox) != 2 || !strings.Contains(s.Waiting(), "404") {
		t.Errorf("%d tries, then %+v, %v", w.tries, s, err)
	}
	w.fail = nil
	deliver(t, root, w, monday.Add(23*time.Hour))
	test.Same(t, []string{"m0", "m1"}, w.got, "arrived")
	w.fail = errors.New("it is down again")
	deliver(t, root, w, monday, messages(2)...)
	deliver(t, root, w, monday.Add(lifetime))
	if s, err := Read(root); err != nil || len(s.Outbox) != 0 || len(s.Lost) != 2 || !strings.Contains(s.Lost[0].Why, "it is down again") {
		t.Errorf("after a day: %+v, %v", s, err)
	}
}

func TestOneAtATime(t *testing.T) {
	root := t.TempDir()
	s, err := Open(root)
	test.OK(t, err)
	defer s.Close()
	if _, err := Open(root); !errors.As(err, new(*LockedError)) {
		t.Errorf("a second process: %v", err)
	}
	if s, err := Read(root); s != nil || err != nil {
		t.Errorf("the state of a warehouse without rules: %v, %v", s, err)
	}
}
