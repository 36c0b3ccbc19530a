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
	idleTimeout    = 30 * time.Second // between two pieces of a body
	requestTimeout = 5 * time.Minute
	graceTimeout   = 2 * time.Second // for what is in flight when a run is stopped
)

const (
	maxBody      = 64 << 20
	maxErrorBody = 64 << 10
	// Bodies over largeBody are read one at a time, so that many workers cannot
	// hold maxBody each.
	largeBody = 1 << 20
)

var errTimeout = errors.New("no answer in time")

// kind is what a request asks for.
type kind uint8

const (
	page kind = iota
	detail
)

func (k kind) String() string {
	if k == page {
		return "page"
	}
	return "detail"
}

// client sends single attempts.
type client struct {
	http    *http.Client
	base    string // without a slash at its end
	key     Secret
	secrets *words.Secrets // what failures do not repeat
	agent   string
	now     func() time.Time
	large   chan struct{} // held while a large body is read
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

// answer is a good answer, whole.
type answer struct {
	status int
	body   []byte
	at     time.Time // when it had arrived
}

// send makes one attempt. began is called exactly once, as soon as the service
// cannot count the request any more: when its answer has begun, or when the
// attempt has ended without one. When ctx is done, the request in flight has
// graceTimeout to finish.
func (c *client) send(ctx context.Context, address string, began func()) (answer, *failure) {
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
	body := &deadlineReader{r: res.Body, timer: idle}

	if res.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
		return answer{}, c.refused(res, raw)
	}
	raw, err := c.read(rctx, body)
	if err != nil {
		if errors.Is(err, errTooLarge) {
			return answer{}, &failure{class: tooLarge, status: res.StatusCode}
		}
		f := c.failed(ctx, rctx, err, true)
		f.status = res.StatusCode
		return answer{}, f
	}
	return answer{res.StatusCode, raw, c.now()}, nil
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

// read reads a whole body, into a slice of its own.
func (c *client) read(ctx context.Context, r *deadlineReader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, largeBody))
	if err != nil || len(raw) < largeBody {
		return raw, err
	}
	r.timer.Stop()
	select {
	case c.large <- struct{}{}:
		defer func() { <-c.large }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.timer.Reset(idleTimeout)
	rest, err := io.ReadAll(io.LimitReader(r, maxBody-largeBody+1))
	if err == nil && len(raw)+len(rest) > maxBody {
		err = errTooLarge
	}
	return append(raw, rest...), err
}

// deadlineReader puts off a timer at every piece that it reads.
type deadlineReader struct {
	r     io.Reader
	timer *time.Timer
}

func (d *deadlineReader) Read(p []byte) (int, error) {
	d.timer.Reset(idleTimeout)
	return d.r.Read(p)
}
