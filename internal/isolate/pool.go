package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"callhouse/internal/postgres"
	"callhouse/internal/words"
)

// Pool is a [postgres.Host] that answers clients in processes.
type Pool struct {
	// Command returns the command that calls ReadJob and Run, not started.
	Command func() *exec.Cmd
	// Job returns the first input of a user's process, as JSON.
	Job func(user string) (any, error)
	// PerUser starts a process for each user instead of one for all.
	PerUser bool
	// Idle is how long a process stays without clients.
	Idle time.Duration
	// Audit receives each statement that ended, even if its process ended it.
	Audit func(postgres.Entry)
	Log   func(string)

	mu      sync.Mutex
	running map[string]*worker // by user
	wg      sync.WaitGroup
}

// worker is one process. It ends once its clients have been notified.
type worker struct {
	*Process
	user    string
	clients int
	idle    *time.Timer // until its end, while it has no clients
	orders  *net.UnixConn

	mu       sync.Mutex
	stopping bool
	runs     map[uint64]postgres.Entry // statements in progress

	ended   chan struct{}
	crashed bool // written before ended
}

// codeCrashed is the SQLSTATE of statements whose process ended.
const codeCrashed = "57P02"

// errCrashed ends the connections of a process that a statement has ended.
var errCrashed = &postgres.Error{Code: codeCrashed, Message: "terminating connection because a statement ended its server process",
	Hint: "one of your statements exceeded the memory or nesting limit, or could not be cancelled; reconnect"}

// Answer implements postgres.Host.
func (p *Pool) Answer(ctx context.Context, conn net.Conn, g postgres.Connection) error {
	w, err := p.take(g.User)
	if err != nil {
		err = fmt.Errorf("start a statement process: %w", err)
		p.Log(err.Error())
		return err
	}
	defer p.release(w)
	defer context.AfterFunc(ctx, w.stop)()
	here, err := w.pass(g)
	if err != nil { // the process has just ended, or does not read orders
		p.Log(fmt.Sprintf("pass the connection of %q to its statement process: %v", g.User, err))
		return errCrashed
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(here, conn)
		_ = here.CloseWrite()
	}()
	defer func() { // even if the process no longer reads a disconnected client's messages
		_, _ = here.Close(), conn.SetReadDeadline(time.Now())
		<-left
	}()
	if !forward(conn, here) {
		return nil
	}
	select { // its connections end just before the process
	case <-w.ended:
		if w.crashed {
			return errCrashed
		}
	case <-left:
	case <-time.After(time.Second):
	}
	return nil
}

// Cancel implements postgres.Host.
func (p *Pool) Cancel(pid uint32) {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.running))
	p.mu.Unlock()
	for _, w := range all { // the process that has this client handles it
		_ = w.send(order{Cancel: pid}, nil)
	}
}

// Close ends the processes. No more clients may come.
func (p *Pool) Close() {
	p.mu.Lock()
	for _, w := range p.running {
		w.stop()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// take returns the process for a user's sessions, to be released.
func (p *Pool) take(user string) (w *worker, err error) {
	if !p.PerUser {
		user = ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w = p.running[user]
	if w != nil && w.isStopping() { // the user's other connections must reconnect too
		w = nil
	}
	if w == nil {
		if w, err = p.start(user); err != nil {
			return nil, err
		}
		if p.running == nil {
			p.running = map[string]*worker{}
		}
		p.running[user] = w
	}
	if w.clients++; w.idle != nil {
		w.idle.Stop()
	}
	return w, nil
}

func (p *Pool) release(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.clients--; w.clients > 0 || p.running[w.user] != w {
		return
	}
	w.idle = time.AfterFunc(p.Idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if w.clients == 0 && p.running[w.user] == w {
			delete(p.running, w.user)
			w.stop()
		}
	})
}

// start starts a process.
func (p *Pool) start(user string) (w *worker, err error) {
	job, err := p.Job(user)
	if err != nil {
		return nil, err
	}
	here, there, err := pair(syscall.SOCK_DGRAM)
	if err != nil {
		return nil, err
	}
	defer there.Close()
	cmd := p.Command()
	cmd.ExtraFiles = []*os.File{there}
	w = &worker{user: user, orders: here, runs: map[uint64]postgres.Entry{}, ended: make(chan struct{})}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		w.Process, err = Start(cmd, job)
	}
	if err != nil {
		return nil, errors.Join(err, here.Close())
	}
	p.wg.Go(func() {
		w.listen(p, stdout)
		trace, err := w.Wait()
		p.mu.Lock()
		if p.running[user] == w {
			delete(p.running, user)
		}
		w.mu.Lock()
		w.crashed = err != nil && !w.stopping
		w.mu.Unlock()
		clients := w.clients
		p.mu.Unlock()
		p.logEnd(w, err, trace, clients)
		_ = here.Close()
		close(w.ended)
	})
	return w, nil
}

// stop tells the process to end; it may be called repeatedly.
func (w *worker) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	w.Stop()
}

func (w *worker) isStopping() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping
}

// listen handles the process's events until it ends.
func (w *worker) listen(p *Pool, from io.Reader) {
	for events := json.NewDecoder(from); ; {
		var e event
		if events.Decode(&e) != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		w.mu.Lock()
		switch {
		case e.Began != nil:
			w.runs[e.Began.Run] = *e.Began
		case e.Ended != nil:
			e.Ended.Text = w.runs[e.Ended.Run].Text
			delete(w.runs, e.Ended.Run)
		}
		w.mu.Unlock()
		if e.Ended != nil && e.Ended.Code != "" {
			p.Audit(*e.Ended)
		}
		if e.Log != "" {
			p.Log(e.Log)
		}
	}
}

// logEnd logs the end of a process and of its statements.
func (p *Pool) logEnd(w *worker, err error, trace string, clients int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ran []string
	for _, e := range w.runs {
		e.Took, e.Code = time.Since(e.At), codeCrashed
		p.Audit(e)
		var none *words.Secrets
		ran = append(ran, none.Clip(e.Text, 200))
	}
	if !w.crashed {
		return
	}
	slices.Sort(ran)
	if first, _, _ := strings.Cut(strings.TrimSpace(trace), "\n"); first != "" {
		err = fmt.Errorf("%w: %s", err, first)
	}
	whose := "everybody"
	if w.user != "" {
		whose = strconv.Quote(w.user)
	}
	text := "no statement"
	if len(ran) > 0 {
		text = strings.Join(ran, " | ")
	}
	p.Log(fmt.Sprintf("the statement process of %s ended (%v), closing %d connections; it was running: %s", whose, err,
		clients, text))
}

// pass passes a client to the process and returns the connection between them.
func (w *worker) pass(g postgres.Connection) (*net.UnixConn, error) {
	here, there, err := pair(syscall.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer there.Close()
	if err := w.send(order{Connection: &g}, there); err != nil {
		return nil, errors.Join(err, here.Close())
	}
	return here, nil
}
