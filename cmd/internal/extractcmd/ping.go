package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/hook"
	"callhouse/internal/words"
)

// Attempts of a ping, with a doubling pause. In total they take less time than a service manager
// waits.
const (
	pingTries   = 3
	pingPause   = 500 * time.Millisecond
	pingTimeout = 10 * time.Second
)

// ping requests an address (GET) after a run that is done, and address/fail (POST) otherwise, with
// the exit code and the first line of the error as the body. A failure is only a warning. A run
// that found the warehouse locked sends nothing: the other run will.
func ping(ctx context.Context, address string, err error, secrets *words.Secrets, log *slog.Logger) {
	code := cli.Code(err)
	if address == "" || code == cli.ExitLocked {
		return
	}
	method, target, body := http.MethodGet, address, ""
	if code != cli.ExitOK {
		u, perr := url.Parse(address)
		if perr != nil {
			log.Warn("cannot ping: --ping-url is not a valid URL")
			return
		}
		line, _, _ := strings.Cut(err.Error(), "\n")
		line = cmp.Or(strings.TrimSpace(line), "failed")
		method, target, body = http.MethodPost, u.JoinPath("fail").String(), fmt.Sprintf("exit code %d: %s\n", code, secrets.Line(line))
	}
	// Even after an interrupt.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	tried := 0
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		tried++
		return struct{}{}, sendPing(ctx, method, target, body)
	}, backoff.WithMaxTries(pingTries),
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: pingPause, Multiplier: 2, MaxInterval: pingTimeout}))
	if err != nil {
		at, _ := url.Parse(target) // nil if it is invalid
		log.Warn("cannot ping", "host", cmp.Or(at, new(url.URL)).Host, "tries", tried, "error", err)
	}
}

// sendPing sends one ping. Its error is permanent if a retry is useless.
func sendPing(ctx context.Context, method, target, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return backoff.Permanent(errors.New("not a valid URL"))
	}
	req.Header.Set("User-Agent", "callhouse/"+cli.Version())
	_, err = hook.Send(http.DefaultClient, req)
	if refused, ok := errors.AsType[*hook.RefusedError](err); ok && refused.After == 0 {
		return backoff.Permanent(err)
	}
	return err
}
