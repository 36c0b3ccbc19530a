// Package hook sends requests to addresses that are secrets themselves, such as those of Slack or of
// a dead man's switch: whoever has the address can write in our name. It decides neither what is
// sent nor when it is tried again.
package hook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// RefusedError is a response that another try does not change before After has passed; 0: at all.
type RefusedError struct {
	Status int
	After  time.Duration
}

func (e *RefusedError) Error() string { return fmt.Sprintf("it responded with status %d", e.Status) }

// Send sends a request, and returns the text of the response. Its error never contains the address; it
// is a *RefusedError if another try is useless.
func Send(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, errors.Unwrap(err) // of a *url.Error, which repeats the address
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))                // to its end, so that the connection can be reused
	seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16) // a date counts as none
	refused := &RefusedError{resp.StatusCode, time.Duration(seconds) * time.Second}
	switch {
	case resp.StatusCode/100 == 2:
		return text, nil
	case seconds == 0 && (resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests):
		return nil, errors.New(refused.Error())
	}
	return nil, refused
}
