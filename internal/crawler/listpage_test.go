package crawler

import (
	"errors"
	"strings"
	"testing"
)

// The error of the one who takes the items ends the reading of a page, and is returned.
func TestErrorEndsAPage(t *testing.T) {
	stop, n := errors.New("stop"), 0
	err := new(pageStream).Read(strings.NewReader(`{"items":[{"a":1},{"b":2},[3],4],"next_cursor":null}`), "items", 1<<20, func([]byte) error {
		n++
		return stop
	})
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d items", err, n)
	}
}
