package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Channel sends messages.
type Channel interface {
	// Send sends a message. Its error contains no secret; if another try is useless now, it is a
	// *RefusedError.
	Send(ctx context.Context, m *Message) error
}

// RefusedError is a response that another try does not change before After has passed; 0: at all.
type RefusedError struct {
	Status int
	After  time.Duration
}

func (e *RefusedError) Error() string { return fmt.Sprintf("it responded with status %d", e.Status) }

const (
	// attemptTimeout is the time limit of one attempt.
	attemptTimeout = 15 * time.Second
	// lifetime is how long a message is kept for a channel that is down.
	lifetime = 24 * time.Hour
	tries    = 3           // attempts per run
	maxWait  = time.Minute // that a receiver may ask for; for a longer one, the next run tries again
)

// Deliver sends the messages in the outbox, in order for each channel, and returns the number of
// sent ones. A message that a channel does not accept stays for the next call, until it is a day
// old. The state is saved after each message: if the process is killed before that, the message is
// sent again, with the same id.
func (s *Store) Deliver(ctx context.Context, channels map[string]Channel, now func() time.Time,
	pause func(context.Context, time.Duration)) (sent int, err error) {
	down := map[string]bool{}
	for _, m := range slices.Clone(s.Outbox) {
		if ctx.Err() != nil {
			break
		}
		c := channels[m.Channel]
		if c != nil && !down[m.Channel] {
			down[m.Channel] = send(ctx, c, m, pause) != nil
		}
		switch {
		case c != nil && !down[m.Channel]:
			sent++
		case c != nil && now().Sub(m.At) < lifetime:
			continue
		default:
			why := "the channel no longer exists"
			if c != nil {
				why = "dropped after a day: " + m.Error
			}
			s.Lost = append(s.Lost, Lost{ID: m.ID, Rule: m.Rule, Event: m.Event, Channel: m.Channel, At: now().UTC(), Why: why})
		}
		s.Outbox = slices.DeleteFunc(s.Outbox, func(other *Message) bool { return other == m })
		if err := s.Save(); err != nil {
			return sent, err
		}
	}
	return sent, s.Save()
}

// send tries a few times to send a message.
func send(ctx context.Context, c Channel, m *Message, pause func(context.Context, time.Duration)) error {
	for try := 1; ; try++ {
		// An attempt is not interrupted: otherwise it would be unknown whether the message arrived.
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
		err := c.Send(once, m)
		cancel()
		if err == nil {
			return nil
		}
		m.Error = clip(err.Error())
		wait := time.Duration(try*try) * time.Second
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			wait = refused.After
		}
		if try == tries || ctx.Err() != nil || wait <= 0 || wait > maxWait {
			return err
		}
		pause(ctx, wait)
	}
}

// Pause waits for d or until ctx is done.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.ToValidUTF8(text[:min(len(text), 200)], "")
}

// Waiting describes the oldest unsent message; empty if there is none.
func (s *State) Waiting() string {
	if len(s.Outbox) == 0 {
		return ""
	}
	m := s.Outbox[0]
	return strings.TrimSuffix("to "+m.Channel+": "+m.Error, ": ")
}
