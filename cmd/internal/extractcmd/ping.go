package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"callhouse/cmd/internal/cli"
)

// How a ping is tried: so often, with a pause that doubles, and in all no longer
// than a service manager waits for.
const (
	pingTries = 3
	pingPause = 500 * time.Millisecond
	pingTime  = 10 * time.Second
)

// ping tells a dead man's switch what became of the run: GET on the URL when it
// is done, POST on URL/fail otherwise, with the exit code and the first line of
// the error as the body. It is no part of the run: where it fails, that is a
// warning. A run that found the warehouse held says nothing: the other one will.
func (n *night) ping(ctx context.Context, err error) {
	code := cli.Code(err)
	if n.pingURL == "" || code == cli.ExitLocked {
		return
	}
	method, target, body := http.MethodGet, n.pingURL, ""
	if code != cli.ExitOK {
		u, perr := url.Parse(n.pingURL)
		if perr != nil {
			n.log.Warn("cannot ping: --ping-url is no address")
			return
		}
		method, target, body = http.MethodPost, u.JoinPath("fail").String(), fmt.Sprintf("exit code %d: %s\n", code, n.secrets.Line(firstLine(err)))
	}
	// Also when the run was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
	defer cancel()
	tries := 0
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		return struct{}{}, knock(ctx, method, target, body)
	}, backoff.WithMaxTries(pingTries),
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: pingPause, Multiplier: 2, MaxInterval: pingTime}))
	if err != nil {
		n.log.Warn("cannot ping", "host", hostOf(target), "tries", tries, "error", err)
	}
}

// knock sends one ping. Its error is permanent where another try makes no sense,
// and does not name the address: who knows it can ping in our name.
func knock(ctx context.Context, method, target, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return backoff.Permanent(errors.New("it is no address"))
	}
	req.Header.Set("User-Agent", "callhouse/"+cli.Version())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // for the connection's sake
	if resp.StatusCode/100 == 2 {
		return nil
	}
	err = fmt.Errorf("it answers %d", resp.StatusCode)
	if resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests {
		return err
	}
	return backoff.Permanent(err)
}

func hostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Host
}

// firstLine returns the first line of what an error says.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return cmp.Or(strings.TrimSpace(line), "failed")
}
