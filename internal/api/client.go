package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"callhouse/internal/words"
)

// Deadlines of one attempt. requestTimeout bounds the whole attempt.
const (
	connectTimeout = 10 * time.Second
	headerTimeout  = 60 * time.Second // until the answer begins
	pieceTimeout   = 30 * time.Second // for each piece of a body
	requestTimeout = 5 * time.Minute

	// GraceTimeout is the time that in-flight requests have to finish when a run is stopped.
	GraceTimeout = 2 * time.Second
)

// piece is the part of a body that must arrive within each pieceTimeout, unless less remains: about
// a kilobyte a second. A timeout for silence is not enough, since an occasional byte resets it.
const piece = 32 << 10

const (
	maxErrorBody = 64 << 10
	// Bodies over largeBody are read and kept one at a time, so that many workers cannot hold MaxBody each.
	largeBody = 1 << 20
)

var errTimeout = errors.New("no answer in time")

// Client sends requests. It is safe for concurrent use.
type Client struct {
	cfg     Config
	log     *slog.Logger
	base    string // without a trailing slash
	http    *http.Client
	secrets *words.Secrets // omitted from failures
	large   chan struct{}  // held while a large body is in memory

	budget    *budget
	health    *health
	looks     chan look // holds one: the last probe of the service
	clockSeen atomic.Bool
	limitsOne atomic.Bool // the service has refused the requests of one stream alone, and since then no others
	counter   counter
}

// New prepares a client. It sends no request.
func New(cfg Config) (*Client, error) {
	cfg.SetDefaults()
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg:     cfg,
		log:     cfg.Logger,
		base:    base,
		secrets: words.NewSecrets(string(cfg.Key)),
		large:   make(chan struct{}, 1),
		health:  newHealth(),
		looks:   make(chan look, 1),
	}
	c.looks <- look{}
	rt := cfg.Transport
	if rt == nil {
		rt = newTransport(cfg.Workers)
	}
	c.http = &http.Client{
		Transport: rt,
		// Each hop would be a request outside the budget.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	second, minute := cfg.Limits()
	c.budget = newBudget(second, minute, cfg.Recall, cfg.Note)
	return c, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Counts returns the numbers of requests so far, by outcome.
func (c *Client) Counts() Counts { return c.counter.now() }

// Verdict returns the error of a client that never received a good answer.
func (c *Client) Verdict() error { return c.health.verdict() }

// Use returns how many of a minute's requests are held now, how many are allowed, and for how long
// nothing may be sent because the service asked for it.
func (c *Client) Use() (held, allowed int, closed time.Duration) { return c.budget.use() }

// newTransport returns a transport that sends each request once. HTTP/2 is off: it repeats requests
// on its own, and at a few requests a second it gains nothing.
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

// send makes one attempt. began is called exactly once, as soon as the service can no longer count
// the request: when its answer has begun, or when the attempt has ended without one. When ctx is
// done, the request in flight has GraceTimeout to finish.
func (c *Client) send(ctx context.Context, r *Request, began func()) (Answer, *RequestError) {
	rctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	idle := time.AfterFunc(headerTimeout, func() { cancel(errTimeout) })
	defer idle.Stop()
	total := time.AfterFunc(requestTimeout, func() { cancel(errTimeout) })
	defer total.Stop()
	defer context.AfterFunc(ctx, func() {
		grace := time.AfterFunc(GraceTimeout, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(rctx, func() { grace.Stop() })
	})()

	req, err := c.request(rctx, r)
	if err != nil {
		began()
		return Answer{}, &RequestError{rule: otherStatus, Err: err}
	}
	res, err := c.http.Do(req)
	began()
	if err != nil {
		return Answer{}, c.failed(ctx, rctx, err, false)
	}
	defer func() { _ = res.Body.Close() }()
	ans := Answer{Status: res.StatusCode}
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		ans.date, ans.answeredAt = date, c.cfg.Clock.Local()
	}
	idle.Reset(pieceTimeout)
	body := &deadlineReader{r: res.Body, timer: idle}
	if res.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
		return ans, c.refused(res, raw)
	}
	limit := cmp.Or(r.MaxBody, MaxBody)
	err = c.read(rctx, &ans, body, int(res.ContentLength), limit)
	ans.At = c.cfg.Clock.Local()
	switch {
	case errors.Is(err, errTooLarge):
		return ans, &RequestError{rule: tooLarge, Status: res.StatusCode, limit: limit}
	case err != nil:
		f := c.failed(ctx, rctx, err, true)
		f.Status = res.StatusCode
		return ans, f
	}
	return ans, nil
}

// request makes the net/http request.
func (c *Client) request(ctx context.Context, r *Request) (*http.Request, error) {
	address := c.base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	// The transport cannot rewind this body, even if it is empty. So it does not resend the request
	// by itself when an idle connection breaks, outside the budget. For an empty body nothing is
	// sent, not even a header.
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), address, io.NopCloser(bytes.NewReader(r.Body)))
	if err != nil {
		return nil, err
	}
	if req.ContentLength = int64(len(r.Body)); r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+string(c.cfg.Key))
	req.Header.Set("User-Agent", "callhouse/"+c.cfg.Version)
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// failed converts an error of net/http into a failure. began reports whether the answer had begun.
func (c *Client) failed(ctx, rctx context.Context, err error, began bool) *RequestError {
	var in *url.Error
	if errors.As(err, &in) {
		err = in.Err // without the address, which is reported elsewhere
	}
	if cause := context.Cause(rctx); cause != nil {
		if ctx.Err() != nil && !errors.Is(cause, errTimeout) {
			return &RequestError{rule: canceled, Err: ctx.Err()}
		}
		err = cause
	}
	return &RequestError{rule: ruleOfError(err, began), Err: err}
}

// refused converts an unsuccessful answer into a failure.
func (c *Client) refused(res *http.Response, raw []byte) *RequestError {
	at := c.cfg.Now()
	if theirs, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		at = theirs
	}
	f := &RequestError{rule: c.ruleOf(res.StatusCode), Status: res.StatusCode, wait: parseRetryAfter(res.Header.Get("Retry-After"), at)}
	f.until = at.Add(f.wait)
	if f.rule == redirected {
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
	if json.Unmarshal(bytes.TrimPrefix(raw, byteOrderMark), &envelope) == nil && envelope.Error != nil {
		f.contract = true
		f.code, f.message = c.secrets.Clip(envelope.Error.Code, 80), c.secrets.Clip(envelope.Error.Message, 200)
		var details struct {
			Allowed []string `json:"allowed_query_parameters"`
		}
		if json.Unmarshal(envelope.Error.Details, &details) == nil {
			f.Allowed = details.Allowed
		}
	}
	return f
}

var errTooLarge = errors.New("the body is too large")

// read reads a body. size is its length, or negative if unknown.
func (c *Client) read(ctx context.Context, a *Answer, r *deadlineReader, size, limit int) error {
	var body bytes.Buffer
	read := func(upTo int) (more bool, err error) {
		_, err = body.ReadFrom(io.LimitReader(r, int64(upTo-body.Len())))
		a.Body = bytes.TrimPrefix(body.Bytes(), byteOrderMark)
		return body.Len() == upTo, err
	}
	body.Grow(16 << 10)
	if more, err := read(min(largeBody, limit+1)); err != nil || !more {
		return err
	}
	r.timer.Stop()
	select {
	case c.large <- struct{}{}:
		a.release = func() { <-c.large }
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.timer.Reset(pieceTimeout)
	body.Grow(max(0, min(size, limit)-body.Len()) + bytes.MinRead)
	if more, err := read(limit + 1); err != nil || !more {
		return err
	}
	return errTooLarge
}

// byteOrderMark is what some programs write before a text in UTF-8. It is not part of JSON.
var byteOrderMark = []byte("\xef\xbb\xbf")

// deadlineReader resets a timer after every piece.
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
