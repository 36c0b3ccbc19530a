package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"callhouse/internal/lend/process"
	"callhouse/internal/postgres"
	"callhouse/internal/words"
)

// ending is how long an ending process waits for its statements.
const ending = 10 * time.Second

// mostText is the maximum length of a statement's text in an event.
const mostText = 8 << 10

// Teller sends events to the pool.
type Teller struct {
	mu sync.Mutex
	to *json.Encoder
}

func (t *Teller) tell(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.to.Encode(e) // fails only if the pool is gone
}

// Log sends a line for the log.
func (t *Teller) Log(text string) { t.tell(event{Log: text}) }

// Run answers the clients passed by a pool until stdin ends. begin creates the host from the pool's
// job.
func Run(ctx context.Context, stdin io.Reader, stdout io.Writer, begin func(job []byte, t *Teller) (postgres.Backend, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var job json.RawMessage
	err := process.Job(stdin, &job, func() {
		cancel()
		time.Sleep(ending)
		os.Exit(1)
	})
	if err != nil {
		return err
	}
	orders, err := connOf(3)
	if err != nil {
		return process.ErrAlone
	}
	tell := &Teller{to: json.NewEncoder(stdout)}
	sessions := &postgres.Sessions{Log: tell.Log, Late: time.Minute, Stuck: func() {
		fmt.Fprintln(os.Stderr, "a statement could not be cancelled within a minute")
		os.Exit(1)
	}}
	sessions.Began = func(e postgres.Entry) {
		var none *words.Secrets
		e.Text = none.Clip(e.Text, mostText)
		tell.tell(event{Began: &e})
	}
	sessions.Ended = func(e postgres.Entry) {
		e.Text = "" // the pool already has it
		tell.tell(event{Ended: &e})
	}
	if sessions.Backend, err = begin(job, tell); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = orders.SetReadDeadline(time.Now()) })()
	var answering sync.WaitGroup
	defer answering.Wait()
	for buf := make([]byte, mostOrder); ; {
		o, fd, err := receive(orders, buf)
		var conn net.Conn
		if err == nil && o.Guest != nil {
			conn, err = connOf(fd)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case o.Guest == nil:
			sessions.Cancel(o.Cancel)
		default:
			answering.Go(func() { _ = sessions.Answer(ctx, conn, *o.Guest) })
		}
	}
}
