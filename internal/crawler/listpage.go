package crawler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/api"
)

// listPage is a page as the service sent it.
type listPage struct {
	Items [][]byte // as sent; the decoder checks whether each is a call
	Next  string   // empty on the last page
	Odd   bool     // Next may also mean the end: zero, false, "null" and the like
	Total int64    // -1 if not sent
	At    int64    // when it arrived, ms
}

// oddCursors are the spellings of cursors that may mean the end of the list.
var oddCursors = []string{"0", "-1", "false", "null", "none", "nil", "undefined", "[]", "{}"}

// errNoList means that an answer is not a page of a list at all.
var errNoList = errors.New("not a page of a list: no items")

// parsePage splits a page. name is the member with the items. A page that has items and is not valid
// JSON is api.ErrBroken. A cursor is opaque; a number keeps its spelling.
func parsePage(name string, body []byte) (listPage, error) {
	p := listPage{Total: -1}
	d := json.NewDecoder(bytes.NewReader(body))
	list, err := p.read(d, name)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = cmp.Or(end, errors.New("more text follows it"))
		}
	}
	switch {
	case err != nil && list:
		return p, fmt.Errorf("%w: %w", api.ErrBroken, err)
	case err != nil, !list && p.Total < 0: // some services leave out an empty list
		return p, errNoList
	}
	return p, nil
}

// read reads a page with the items in the member name. list reports whether there was such a list.
func (p *listPage) read(d *json.Decoder, name string) (list bool, _ error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false, errNoList
	}
	for d.More() {
		member, err := d.Token()
		if err != nil {
			return list, err
		}
		if member != name {
			var v json.RawMessage
			if err := d.Decode(&v); err != nil {
				return list, err
			}
			p.set(member.(string), v)
			continue
		}
		t, err := d.Token()
		switch {
		case err != nil:
		case t == json.Delim('['):
			list = true
			err = p.readItems(d)
		case t == json.Delim('{') && !d.More(): // it stands for no items, as null and the like do
			_, err = d.Token()
		case t != nil && t != "" && t != false:
			return false, errNoList
		}
		if err != nil {
			return list, err
		}
	}
	_, err := d.Token()
	return list, err
}

func (p *listPage) readItems(d *json.Decoder) error {
	for d.More() {
		var item json.RawMessage
		if err := d.Decode(&item); err != nil {
			return err
		}
		p.Items = append(p.Items, item)
	}
	_, err := d.Token()
	return err
}

func (p *listPage) set(name string, v []byte) {
	switch name {
	case "next_cursor":
		if p.Next = ""; json.Unmarshal(v, &p.Next) != nil {
			p.Next = string(v)
		}
		p.Odd = slices.Contains(oddCursors, strings.ToLower(p.Next))
	case "total_count":
		if n, err := strconv.ParseInt(string(bytes.Trim(v, `"`)), 10, 64); err == nil && n >= 0 {
			p.Total = n
		}
	}
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
