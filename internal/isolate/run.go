package isolate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"callhouse/internal/postgres"
	"callhouse/internal/words"
)

// maxText is the maximum length of a statement's text in an event.
const maxText = 8 << 10

// Events sends events to the pool.
type Events struct {
	mu sync.Mutex
	to *json.Encoder
}

func (t *Events) send(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.to.Encode(e) // fails only if the pool is gone
}

// Log sends a line for the log.
func (t *Events) Log(text string) { t.send(event{Log: text}) }

// NewEvents returns events on stdout.
func NewEvents(stdout io.Writer) *Events { return &Events{to: json.NewEncoder(stdout)} }

// Run answers the clients passed by a pool until ctx is done.
func Run(ctx context.Context, events *Events, backend postgres.Backend) error {
	orders, err := connOf(3)
	if err != nil {
		return ErrNoJob
	}
	sessions := &postgres.Sessions{Backend: backend, Log: events.Log, Late: time.Minute, Stuck: func() {
		fmt.Fprintln(os.Stderr, "a statement could not be cancelled within a minute")
		os.Exit(1)
	}}
	sessions.Began = func(e postgres.Entry) {
		var none *words.Secrets
		e.Text = none.Clip(e.Text, maxText)
		events.send(event{Began: &e})
	}
	sessions.Ended = func(e postgres.Entry) {
		e.Text = "" // the pool already has it
		events.send(event{Ended: &e})
	}
	defer context.AfterFunc(ctx, func() { _ = orders.SetReadDeadline(time.Now()) })()
	var answering sync.WaitGroup
	defer answering.Wait()
	for buf := make([]byte, maxOrder); ; {
		o, fd, err := receive(orders, buf)
		var conn net.Conn
		if err == nil && o.Connection != nil {
			conn, err = connOf(fd)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case o.Connection == nil:
			sessions.Cancel(o.Cancel)
		default:
			answering.Go(func() { _ = sessions.Answer(ctx, conn, *o.Connection) })
		}
	}
}
