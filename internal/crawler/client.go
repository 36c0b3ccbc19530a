package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"callhouse/internal/words"
)

// Deadlines of one attempt. requestTimeout bounds them all together.
const (
	connectTimeout = 10 * time.Second
	headerTimeout  = 60 * time.Second // from sending to the answer's beginning
	pieceTimeout   = 30 * time.Second // for each piece of a body
	requestTimeout = 5 * time.Minute
	graceTimeout   = 2 * time.Second // for what is in flight when a run is stopped
)

// piece is how much of a body must arrive in each pieceTimeout, or all that is
// left of it: about a kilobyte a second. Silence is no measure: a byte now and
// then breaks it.
const piece = 32 << 10

const (
	// maxBody bounds what is kept of a body: one call, or one page.
	maxBody      = 8 << 20
	maxParts     = 100_000 // turns, items and unknown fields of a call
	maxErrorBody = 64 << 10
	// Of a longer body that holds one item the end is read too, where it tells
	// how to go on; but no more than maxSkipped of it, and maxTail is kept.
	maxSkipped = 256 << 20
	maxTail    = 64 << 10
	// Bodies over largeBody are read, and kept, one at a time, so that many workers
	// cannot hold maxBody each.
	largeBody = 1 << 20
)

var errTimeout = errors.New("no answer in time")

// kind is what a request asks for.
type kind uint8

const (
	page kind = iota
	part      // of a page that could not be had as a whole
	detail
)

func (k kind) String() string { return [...]string{"page", "part of a page", "detail"}[k] }

// client sends single attempts.
type client struct {
	http    *http.Client
	base    string // without a slash at its end
	key     Secret
	secrets *words.Secrets // what failures do not repeat
	agent   string
	now     func() time.Time
	large   chan struct{} // held while a large body is
	ownIdle func()
}

func newClient(cfg *Config, base string) *client {
	c := &client{
		base:    base,
		key:     cfg.Key,
		secrets: words.NewSecrets(string(cfg.Key)),
		agent:   "callhouse/" + cfg.Version,
		now:     cfg.Now,
		large:   make(chan struct{}, 1),
		ownIdle: func() {},
	}
	rt := cfg.Transport
	if rt == nil {
		t := newTransport(cfg.Workers)
		rt, c.ownIdle = t, t.CloseIdleConnections
	}
	c.http = &http.Client{
		Transport: rt,
		// Each hop would be a request that nobody counted.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// newTransport returns a transport that sends each request once. HTTP/2 is off:
// it repeats requests by itself, and at a handful a second it brings nothing.
func newTransport(workers int) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConns:        workers + 1,
		MaxIdleConnsPerHost: workers + 1,
		Protocols:           protocols,
	}
}

// close drops the connections that are kept for later.
func (c *client) close() { c.ownIdle() }

// callURL returns the address of a call's own record. An id is opaque: whatever
// it holds, it stays one segment of the path.
func (c *client) callURL(id string) string {
	escaped := url.PathEscape(id)
	if strings.Trim(id, ".") == "" { // "." and ".." would be walked away
		escaped = strings.ReplaceAll(id, ".", "%2E")
	}
	return c.base + "/v3/calls/" + escaped
}

// listURL returns the address of a page.
func (c *client) listURL(q url.Values) string { return c.base + "/v3/calls?" + q.Encode() }

// emptyBody is a body that ends at once. The transport sends nothing of it, no
// header either; but since it cannot rewind it, it does not send the request a
// second time by itself when a kept connection breaks. Such a request would be
// one that the budget knows nothing of.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyBody) Close() error             { return nil }

// answer is what came of a request: a good answer, whole, or with a failure as
// much of it as arrived.
type answer struct {
	status int
	body   []byte
	tail   []byte    // its end, also of one that was too large to keep; nil: not known
	at     time.Time // when it had arrived
	date   time.Time // by the service's clock; zero: it does not say
	free   func()    // to be called when the body is no longer needed; nil: it need not be
}

// done lets the next large body in.
func (a *answer) done() {
	if a.free != nil {
		a.free()
	}
}

// send makes one attempt. toEnd says that the end of a body is wanted which is
// too large to keep. began is called exactly once, as soon as the service
// cannot count the request any more: when its answer has begun, or when the
// attempt has ended without one. When ctx is done, the request in flight has
// graceTimeout to finish.
func (c *client) send(ctx context.Context, address string, toEnd bool, began func()) (answer, *failure) {
	rctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	idle := time.AfterFunc(headerTimeout, func() { cancel(errTimeout) })
	defer idle.Stop()
	total := time.AfterFunc(requestTimeout, func() { cancel(errTimeout) })
	defer total.Stop()
	defer context.AfterFunc(ctx, func() {
		grace := time.AfterFunc(graceTimeout, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(rctx, func() { grace.Stop() })
	})()

	req, err := http.NewRequestWithContext(rctx, http.MethodGet, address, emptyBody{})
	if err != nil {
		began()
		return answer{}, &failure{class: otherStatus, err: err}
	}
	req.Header.Set("Authorization", "Bearer "+string(c.key))
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", "application/json")

	res, err := c.http.Do(req)
	began()
	if err != nil {
		return answer{}, c.failed(ctx, rctx, err, false)
	}
	defer func() { _ = res.Body.Close() }()
	ans := answer{status: res.StatusCode}
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		ans.date = date
	}
	idle.Reset(pieceTimeout)
	body := &deadlineReader{r: res.Body, timer: idle}
	if res.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
		return ans, c.refused(res, raw)
	}
	err = c.read(rctx, &ans, body, res.ContentLength, toEnd)
	ans.at = c.now()
	switch {
	case errors.Is(err, errTooLarge):
		return ans, &failure{class: tooLarge, status: res.StatusCode}
	case err != nil:
		f := c.failed(ctx, rctx, err, true)
		f.status = res.StatusCode
		return ans, f
	}
	ans.tail = ans.body[max(0, len(ans.body)-maxTail):]
	return ans, nil
}

// failed makes a failure of an error of net/http. began says that the answer had
// begun.
func (c *client) failed(ctx, rctx context.Context, err error, began bool) *failure {
	var in *url.Error
	if errors.As(err, &in) {
		err = in.Err // without the address: it stands elsewhere already
	}
	if cause := context.Cause(rctx); cause != nil {
		if ctx.Err() != nil && !errors.Is(cause, errTimeout) {
			return &failure{class: canceled, err: ctx.Err()}
		}
		err = cause
	}
	return &failure{class: classOfError(err, began), err: err}
}

// refused makes a failure of an answer that is not a success.
func (c *client) refused(res *http.Response, raw []byte) *failure {
	f := &failure{class: classOf(res.StatusCode), status: res.StatusCode, wait: retryAfter(res.Header, c.now())}
	if f.class == redirected {
		if to, err := res.Location(); err == nil {
			to.User, to.RawQuery = nil, ""
			f.target = c.secrets.Clip(to.String(), 300)
		}
	}
	var envelope struct {
		Error *struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(raw, &envelope) == nil && envelope.Error != nil {
		f.shaped = true
		f.code, f.message = c.secrets.Clip(envelope.Error.Code, 80), c.secrets.Clip(envelope.Error.Message, 200)
		var details struct {
			Allowed []string `json:"allowed_query_parameters"`
		}
		if json.Unmarshal(envelope.Error.Details, &details) == nil {
			f.allowed = details.Allowed
		}
	}
	return f
}

var errTooLarge = fmt.Errorf("the body is over %d MiB", maxBody>>20)

// read reads a body, of the given size if that is not below zero.
func (c *client) read(ctx context.Context, a *answer, r *deadlineReader, size int64, toEnd bool) (err error) {
	if a.body, err = readTo(nil, r, 16<<10, largeBody); err != nil || len(a.body) < largeBody {
		return err
	}
	r.timer.Stop()
	select {
	case c.large <- struct{}{}:
		a.free = func() { <-c.large }
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.timer.Reset(pieceTimeout)
	a.body, err = readTo(a.body, r, int(min(max(size, 0), maxBody))+1, maxBody+1)
	if err != nil || len(a.body) <= maxBody {
		return err
	}
	if toEnd {
		a.tail = readTail(r)
	}
	return errTooLarge
}

// readTo reads on, until raw has most bytes or the body ends. room is how many it
// may have.
func readTo(raw []byte, r io.Reader, room, most int) ([]byte, error) {
	for len(raw) < most {
		if len(raw) == cap(raw) {
			room = min(max(room, 2*len(raw)), most)
			raw = append(make([]byte, 0, room), raw...)
		}
		n, err := r.Read(raw[len(raw):min(cap(raw), most)])
		raw = raw[:len(raw)+n]
		if errors.Is(err, io.EOF) {
			return raw, nil
		} else if err != nil {
			return raw, err
		}
	}
	return raw, nil
}

// readTail reads a body to its end, and returns its last bytes; nil where the end
// does not come.
func readTail(r io.Reader) []byte {
	room := make([]byte, 2*maxTail)
	have := 0
	for skipped := 0; skipped < maxSkipped; {
		n, err := r.Read(room[have:])
		skipped += n
		have += n
		if err != nil {
			if errors.Is(err, io.EOF) {
				return room[:have]
			}
			return nil
		}
		if have == len(room) {
			have = copy(room, room[maxTail:])
		}
	}
	return nil
}

// deadlineReader puts off a timer at every piece that it has read.
type deadlineReader struct {
	r     io.Reader
	timer *time.Timer
	got   int
}

func (d *deadlineReader) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if d.got += n; d.got >= piece {
		d.timer.Reset(pieceTimeout)
		d.got = 0
	}
	return n, err
}
