package crawler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"callhouse/internal/api"
)

// listPage is a page as the service sent it.
type listPage struct {
	Items []json.RawMessage // as sent; the decoder checks whether each is a call
	Next  string            // empty on the last page
	Total int64             // -1 if not sent
	At    int64             // when it arrived, ms
}

// errNoList means that an answer is not a page of a list at all.
var errNoList = errors.New("not a page of a list: no items")

// parsePage splits a page. name is the member with the items. An object that is not valid JSON is
// api.ErrBroken. A cursor is opaque; one that is no text is none.
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
	_ = json.Unmarshal(members["next_cursor"], &p.Next)
	if total := int64(-1); json.Unmarshal(members["total_count"], &total) == nil {
		p.Total = max(total, -1)
	}
	switch items := members[name]; string(items) {
	case "", "null": // some services leave out an empty list
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
