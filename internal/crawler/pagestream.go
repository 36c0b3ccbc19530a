package crawler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// pageStream is a page of v2 that is processed while it arrives, so that its size does not matter.
type pageStream struct {
	Bytes  int64
	More   bool // not all items fit on it
	NoList bool // it has another form
}

// Read passes the items in the member name to each, whose error ends it. An item is valid until
// each returns, and has at most most bytes.
func (s *pageStream) Read(body io.Reader, name string, most int64, each func(item []byte) error) error {
	in := &bounded{r: body, most: most, left: most}
	list, err := readPage(json.NewDecoder(in), name, func(item []byte) error {
		in.left = in.most
		return each(item)
	}, func(member string, v []byte) {
		if member == "next_cursor" || member == "next_pagination_key" {
			s.More = s.More || string(v) != "null" && string(v) != `""`
		}
	})
	if err == nil && !list {
		err = errNoList
	}
	s.Bytes, s.NoList = in.got, errors.Is(err, errNoList)
	if err != nil {
		return fmt.Errorf("read a v2 page: %w", err)
	}
	return nil
}

// bounded bounds how much of a body is read for one item.
type bounded struct {
	r               io.Reader
	most, got, left int64
}

func (b *bounded) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a call is larger than %d MiB", b.most>>20)
	}
	n, err := b.r.Read(to[:min(int64(len(to)), b.left)])
	b.got, b.left = b.got+int64(n), b.left-int64(n)
	return n, err
}
