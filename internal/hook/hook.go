// Package hook sends requests to addresses that are secrets themselves, such as those of Slack or of
// a dead man's switch: whoever has the address can write in our name. It decides neither what is
// sent nor when it is tried again.
package hook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// RefusedError is a response that another try does not change.
type RefusedError struct{ Status int }

func (e *RefusedError) Error() string { return fmt.Sprintf("it responded with status %d", e.Status) }

// Send sends a request. Its error never contains the address; it is a *RefusedError if another try is
// useless.
func Send(client *http.Client, req *http.Request) error {
	resp, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // it repeats the address
			return u.Err
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be reused
	refused := &RefusedError{resp.StatusCode}
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests:
		return errors.New(refused.Error())
	}
	return refused
}
