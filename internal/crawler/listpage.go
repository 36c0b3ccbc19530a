package crawler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/api"
)

// listPage is a page as the service sent it.
type listPage struct {
	Items []json.RawMessage // as sent; the decoder checks whether each is a call
	Next  string            // empty on the last page
	Odd   bool              // Next may also mean the end: zero, false, "null" and the like
	Total int64             // -1 if not sent
	At    int64             // when it arrived, ms
}

// oddCursors are the spellings of cursors that may mean the end of the list.
var oddCursors = []string{"0", "-1", "false", "null", "none", "nil", "undefined", "[]", "{}"}

// errNoList means that an answer is not a page of a list at all.
var errNoList = errors.New("not a page of a list: no items")

// parsePage splits a page. name is the member with the items. An object that is not valid JSON is
// api.ErrBroken. A cursor is opaque; a number keeps its spelling.
func parsePage(name string, body []byte) (listPage, error) {
	p := listPage{Total: -1}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
			err = fmt.Errorf("%w: %w", api.ErrBroken, err)
		} else {
			err = errNoList
		}
		return p, err
	}
	if next := members["next_cursor"]; json.Unmarshal(next, &p.Next) != nil {
		p.Next = string(next)
	}
	p.Odd = slices.Contains(oddCursors, strings.ToLower(p.Next))
	if n, err := strconv.ParseInt(string(bytes.Trim(members["total_count"], `"`)), 10, 64); err == nil && n >= 0 {
		p.Total = n
	}
	switch items := members[name]; string(items) {
	case "", "null", "{}", `""`, "false": // some services leave out an empty list
		if p.Total < 0 {
			return p, errNoList
		}
	default:
		if json.Unmarshal(items, &p.Items) != nil {
			return p, errNoList
		}
	}
	return p, nil
}

// idOf finds the id in an item that could not be decoded, for the report.
func idOf(item []byte) string {
	var call struct {
		ID     any `json:"id"`
		CallID any `json:"call_id"`
	}
	_ = json.Unmarshal(item, &call)
	id, _ := call.ID.(string)
	other, _ := call.CallID.(string)
	return cmp.Or(id, other)
}
