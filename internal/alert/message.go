package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Event is what a message reports of an alert.
type Event string

// The events.
const (
	Started  Event = "started"
	Reminder Event = "reminder"
	Ended    Event = "ended"
)

// Message is what one channel is to be sent of one rule: the alerts that started, go on or ended
// with one evaluation.
type Message struct {
	ID        string    `json:"id"` // the same whenever it is sent
	Channel   string    `json:"channel"`
	Event     Event     `json:"event"`
	Source    string    `json:"source,omitempty"` // whose calls: the title of the rules, or the profile
	Rule      string    `json:"rule"`
	Condition string    `json:"condition"` // completed_percent below 70%
	At        time.Time `json:"at"`
	Items     []Item    `json:"items"`

	Tries   int    `json:"tries,omitempty"`
	Error   string `json:"error,omitempty"`   // of the last try
	Sending bool   `json:"sending,omitempty"` // a try has begun, of which nothing is known
}

// Item is one group of calls in a message. Texts are for people, numbers exact.
type Item struct {
	Group  string    `json:"group,omitempty"` // empty: all calls
	Since  time.Time `json:"since"`           // begin of the first window in which the condition was met
	From   time.Time `json:"from"`            // the window
	To     time.Time `json:"to"`
	Value  Figure    `json:"value"`
	Low    *Figure   `json:"low,omitempty"`    // bounds
	High   *Figure   `json:"high,omitempty"`   //
	Bounds string    `json:"bounds,omitempty"` // of what: value or change
	Before *Figure   `json:"before,omitempty"` // the value in the previous period, or the usual one
	Calls  *float64  `json:"calls,omitempty"`  // that the value is computed from
	Of     string    `json:"of,omitempty"`     // what these are
	Note   string    `json:"note,omitempty"`   // why it ended, where that is not obvious
	// Command lists the calls; Link is where the live page shows them.
	Command string `json:"command"`
	Link    string `json:"link,omitempty"`
}

// What bounds are of.
const (
	BoundsOfValue  = "value"
	BoundsOfChange = "change"
)

// Figure is a number as people read it, and exactly.
type Figure struct {
	Text   string  `json:"text"`
	Number float64 `json:"number"`
}

// idOf returns an id that is the same for the same parts.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// Title returns the message in one line.
func (m *Message) Title() string {
	title := m.Rule
	if m.Source != "" {
		title = m.Source + ": " + title
	}
	switch m.Event {
	case Started:
		title += ": " + m.Condition
	case Reminder:
		title += ": still " + m.Condition
	case Ended:
		title += ": over"
	}
	if len(m.Items) == 1 && m.Items[0].Group != "" {
		title += ", " + m.Items[0].Group
	} else if len(m.Items) > 1 {
		title += fmt.Sprintf(", %d groups", len(m.Items))
	}
	return title
}

// mostItems is how many groups a message describes; the others are counted.
const mostItems = 10

// Shown returns the items to describe, and the number of others.
func (m *Message) Shown() (items []Item, others int) {
	n := min(len(m.Items), mostItems)
	return m.Items[:n], len(m.Items) - n
}

// Text returns what is known of an item, in one or two sentences.
func (i *Item) Text(event Event) string {
	var b strings.Builder
	if i.Group != "" {
		b.WriteString(i.Group + ": ")
	}
	b.WriteString(i.Value.Text)
	var about []string
	switch {
	case i.Low == nil || i.High == nil:
	case i.Bounds == BoundsOfChange:
		about = append(about, "true change between "+i.Low.Text+" and "+i.High.Text)
	default:
		about = append(about, "true value between "+i.Low.Text+" and "+i.High.Text)
	}
	if i.Calls != nil {
		about = append(about, fmt.Sprintf("of %.0f %s", *i.Calls, i.Of))
	}
	if i.Before != nil {
		about = append(about, "before: "+i.Before.Text)
	}
	if len(about) > 0 {
		b.WriteString(" (" + strings.Join(about, "; ") + ")")
	}
	b.WriteString(", " + span(i.From, i.To) + ".")
	if event != Started || i.Since.Before(i.From) {
		b.WriteString(" Since " + moment(i.Since) + ".")
	}
	if i.Note != "" {
		b.WriteString(" " + i.Note)
	}
	return b.String()
}

// span describes a window; whole days by their dates.
func span(from, to time.Time) string {
	if whole(from) && whole(to) {
		last := to.Add(-time.Hour)
		if from.Format(time.DateOnly) == last.Format(time.DateOnly) {
			return "on " + from.Format(time.DateOnly)
		}
		return from.Format(time.DateOnly) + " to " + last.Format(time.DateOnly)
	}
	return moment(from) + " to " + moment(to)
}

func moment(t time.Time) string {
	if whole(t) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04 MST")
}

func whole(t time.Time) bool { return t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 }
