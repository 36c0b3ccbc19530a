package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Event is the event that a message reports.
type Event string

// The events.
const (
	Started Event = "started"
	Ended   Event = "ended"
)

// Message is sent by one channel for one rule: it lists the alerts that started or ended in
// one evaluation.
type Message struct {
	ID        string    `json:"id"` // the same for every attempt
	Channel   string    `json:"channel,omitempty"`
	Event     Event     `json:"event"`
	Source    string    `json:"source,omitempty"` // source of the calls: the title of the rules, or the profile
	Rule      string    `json:"rule"`
	Condition string    `json:"condition"` // completed_percent below 70%
	At        time.Time `json:"at"`
	Items     []Item    `json:"items"`

	Error string `json:"error,omitempty"` // of the last attempt
}

// Item is one group of calls in a message. Texts are for people; numbers are exact.
type Item struct {
	Group  string    `json:"group,omitempty"` // empty: all calls
	Since  time.Time `json:"since"`           // start of the first window in which the condition was met
	From   time.Time `json:"from"`            // the window
	To     time.Time `json:"to"`
	Value  Figure    `json:"value"`
	Low    *Figure   `json:"low,omitempty"`    // bounds
	High   *Figure   `json:"high,omitempty"`   //
	Bounds string    `json:"bounds,omitempty"` // quantity that they bound: value or change
	Before *Figure   `json:"before,omitempty"` // the value in the previous period, or the usual one
	Calls  *float64  `json:"calls,omitempty"`  // that are the basis of the value
	Of     string    `json:"of,omitempty"`     // unit of Calls
	Note   string    `json:"note,omitempty"`   // why it ended, unless that is obvious
	// Command lists the calls; Link is the page of the live server that shows them.
	Command string `json:"command"`
	Link    string `json:"link,omitempty"`
}

// Quantities with bounds.
const (
	BoundsOfValue  = "value"
	BoundsOfChange = "change"
)

// Figure is a number, formatted and exact.
type Figure struct {
	Text   string  `json:"text"`
	Number float64 `json:"number"`
}

// idOf returns an id that depends only on the parts.
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

// maxItems is the maximum number of groups that a message describes; the rest are counted.
const maxItems = 10

// Shown returns the items to describe, and the number of the rest.
func (m *Message) Shown() (items []Item, others int) {
	n := min(len(m.Items), maxItems)
	return m.Items[:n], len(m.Items) - n
}

// Text describes an item in one or two sentences.
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

// span describes a window; one of whole days by its dates.
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
