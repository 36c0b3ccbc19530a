package recording

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// part is an incomplete download.
type part struct {
	file *os.File
	size int64
	sum  hash.Hash
	// total is the size of the whole file; -1: unknown. open is set if not even the end of the answer
	// shows that the file is complete. check is the checksum that the host sent; nil: none.
	total int64
	open  bool
	check *digest
	// kind is the media type in the answer, and coding its content coding; empty: none.
	kind, coding string
}

// newPart creates the file of a download.
func (a *Archive) newPart(c Call) (*part, error) {
	if err := os.MkdirAll(a.cfg.Scratch, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(a.cfg.Scratch, fileName(c.ID)+".part")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &part{file: f, sum: sha256.New(), total: -1}, nil
}

func (p *part) remove() {
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}

// restart discards the downloaded data.
func (p *part) restart() error {
	p.size, p.total, p.open, p.check = 0, -1, false, nil
	p.sum.Reset()
	_, err := p.file.Seek(0, io.SeekStart)
	return errors.Join(err, p.file.Truncate(0))
}

// Write implements io.Writer.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.size += int64(n)
	p.sum.Write(b[:n])
	if p.check != nil {
		p.check.Write(b[:n])
	}
	if err != nil {
		err = here(err)
	}
	return n, err
}

// download repeats requests until the file is complete. Each begins anew.
func (a *Archive) download(ctx context.Context, link *url.URL, p *part) error {
	pause := a.cfg.Pause
	for attempt := 1; ; attempt++ {
		err := a.request(ctx, link, p)
		e := (*Error)(nil)
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if !errors.As(err, &e) || e.Problem != Failed || attempt >= a.cfg.Attempts || e.After > a.cfg.Stall {
			return err
		}
		t := time.NewTimer(max(pause, e.After))
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
		pause *= 2
	}
}

// request requests the file.
func (a *Archive) request(ctx context.Context, link *url.URL, p *part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, link.String(), nil)
	if err != nil {
		return unreachable(link.Hostname(), err)
	}
	r.Header.Set("User-Agent", cmp.Or(a.cfg.UserAgent, "callhouse"))
	r.Header.Set("Accept", "audio/*, application/octet-stream;q=0.9, */*;q=0.1")
	res, err := a.client.Do(r)
	if err != nil {
		return unreachable(link.Hostname(), err)
	}
	defer res.Body.Close()
	host := res.Request.URL.Hostname()
	if err := a.answer(res, host, p); err != nil {
		return err
	}
	stall := time.AfterFunc(a.cfg.Stall, func() {
		cancel(&Error{Problem: Failed, Reason: fmt.Sprintf("%s sent nothing for %v", host, a.cfg.Stall)})
	})
	defer stall.Stop()
	err = a.copy(ctx, p, res.Body, stall)
	if cause := (*Error)(nil); errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	if err != nil {
		if e := (*Error)(nil); errors.As(err, &e) {
			return e
		}
		return unreachable(host, err)
	}
	return p.complete(host)
}

// complete returns an error if the host has sent only a part of the file, or other bytes than it had.
func (p *part) complete(host string) error {
	if p.total >= 0 && p.size != p.total {
		return &Error{Problem: Failed, Reason: fmt.Sprintf("%s sent %d of %d bytes", host, p.size, p.total)}
	}
	if p.check.fits() {
		p.open = p.open && p.check == nil
		return nil
	}
	if err := p.restart(); err != nil {
		return here(err)
	}
	return &Error{Problem: Failed, Reason: host + " sent a checksum that the recording does not have"}
}

// answer interprets the status and headers.
func (a *Archive) answer(res *http.Response, host string, p *part) error {
	failed := func(problem Problem, reason string) error {
		return &Error{Problem: problem, Reason: host + " " + reason, After: retryAfter(res.Header)}
	}
	switch s := res.StatusCode; {
	case s == http.StatusOK:
	case s == http.StatusBadRequest, s == http.StatusUnauthorized, s == http.StatusForbidden:
		return failed(Expired, fmt.Sprintf("does not accept the link (HTTP %d)", s))
	case s == http.StatusNotFound, s == http.StatusGone:
		return failed(Gone, fmt.Sprintf("has no such recording (HTTP %d)", s))
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return failed(Failed, fmt.Sprintf("answered HTTP %d", s))
	default:
		return failed(NotAudio, fmt.Sprintf("answered HTTP %d", s))
	}
	if err := p.restart(); err != nil {
		return here(err)
	}
	if p.coding = strings.ToLower(res.Header.Get("Content-Encoding")); p.coding == "identity" {
		p.coding = ""
	}
	p.kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	p.total, p.open, p.check = res.ContentLength, isOpen(res), digestOf(res.Header)
	if p.total > a.cfg.MaxBytes {
		return &Error{Problem: Refused, Reason: fmt.Sprintf("%s sends more than %d bytes", host, a.cfg.MaxBytes)}
	}
	return nil
}

// isOpen reports whether only the end of the connection ends an answer: it may have been cut off.
func isOpen(res *http.Response) bool {
	return res.ContentLength < 0 && len(res.TransferEncoding) == 0 && res.ProtoMajor < 2
}

// retryAfter returns how long a host asks clients to wait.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// copy copies a body at the permitted rate. Each byte that arrives resets the stall timer.
func (a *Archive) copy(ctx context.Context, p *part, body io.Reader, stall *time.Timer) error {
	buf := make([]byte, piece)
	host := io.LimitReader(body, a.cfg.MaxBytes+1)
	for {
		n, err := host.Read(buf)
		if n > 0 {
			stall.Stop() // delays of the disk or of our own limit are not the host's fault
			if _, err := p.Write(buf[:n]); err != nil {
				return err
			}
			if p.size > a.cfg.MaxBytes {
				return &Error{Problem: Refused, Reason: fmt.Sprintf("it has more than %d bytes", a.cfg.MaxBytes)}
			}
			if a.bytes != nil {
				if err := a.bytes.WaitN(ctx, n); err != nil {
					return err
				}
			}
			stall.Reset(a.cfg.Stall)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
