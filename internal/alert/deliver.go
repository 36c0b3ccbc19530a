package alert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Channel sends messages.
type Channel interface {
	// Send sends a message. Its error contains no secret.
	Send(ctx context.Context, m *Message) error
	// Repeats reports whether the receiver recognizes a repeated message by its id and discards it.
	Repeats() bool
}

const (
	// patience is the time limit of one attempt.
	patience = 15 * time.Second
	// lifetime is how long a message is kept for a channel that is down.
	lifetime = 24 * time.Hour
	tries    = 3 // attempts per run
)

// Deliver sends the messages in the outbox, in order for each channel. A message that a channel
// does not accept stays for the next call, until it is a day old. Deliver saves two steps of each
// attempt:
//
//   - its start. If the process is killed afterwards, it is unknown whether the message arrived: it is
//     sent again only if the channel discards repetitions; otherwise it counts as lost.
//   - its result.
//
// It returns the number of sent messages.
func (s *Store) Deliver(ctx context.Context, channels map[string]Channel, now func() time.Time,
	pause func(context.Context, time.Duration)) (sent int, err error) {
	down := map[string]bool{}
	for i := 0; i < len(s.Outbox) && ctx.Err() == nil; {
		m := s.Outbox[i]
		c := channels[m.Channel]
		var lost string
		switch {
		case c == nil:
			lost = "the channel no longer exists"
		case m.Sending && !c.Repeats():
			lost = "unconfirmed: the program was killed while it sent this message"
		case !down[m.Channel]:
			err := s.send(ctx, c, m, now, pause)
			if errors.As(err, new(*saveError)) {
				return sent, err
			}
			down[m.Channel] = err != nil
		}
		switch {
		case lost == "" && !down[m.Channel]:
			sent++
		case lost == "" && now().Sub(m.At) < lifetime:
			i++
			continue
		default:
			s.Lost = append(s.Lost, Lost{ID: m.ID, Rule: m.Rule, Event: m.Event, Channel: m.Channel, At: now().UTC(),
				Why: cmp.Or(lost, "dropped after a day: "+m.Error)})
		}
		s.Outbox = append(s.Outbox[:i:i], s.Outbox[i+1:]...)
		if err := s.Save(); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// saveError reports that the state cannot be written. Nothing more is sent then.
type saveError struct{ error }

func (e *saveError) Unwrap() error { return e.error }

// send tries a few times to send a message.
func (s *Store) send(ctx context.Context, c Channel, m *Message, now func() time.Time, pause func(context.Context, time.Duration)) error {
	for try := 1; ; try++ {
		m.Sending = true
		if err := s.Save(); err != nil {
			return &saveError{err}
		}
		// An attempt is not interrupted: otherwise it would be unknown whether the message arrived.
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		err := c.Send(once, m)
		cancel()
		if err == nil {
			return nil
		}
		m.Sending, m.Tries, m.Error = false, m.Tries+1, clip(err.Error())
		if serr := s.Save(); serr != nil {
			return &saveError{serr}
		}
		var refused *RefusedError
		if try == tries || ctx.Err() != nil || errors.As(err, &refused) {
			return err
		}
		pause(ctx, time.Duration(try*try)*time.Second)
	}
}

// RefusedError reports that a channel refused a message for a reason that waiting does not resolve,
// such as a wrong address. The next run still tries again, since the reason may have been fixed.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

func (e *RefusedError) Unwrap() error { return e.Err }

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
	if m.Error == "" {
		return fmt.Sprintf("to %s", m.Channel)
	}
	return fmt.Sprintf("to %s: %s", m.Channel, m.Error)
}
