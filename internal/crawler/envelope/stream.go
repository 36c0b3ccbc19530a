package envelope

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Stream is a page of v2 that is processed while it arrives, so that its size does not matter.
type Stream struct {
	Bytes  int64
	More   bool // not all items fit on it
	NoList bool // it has another form
}

// Read passes the items in the member name to each, whose error ends it. An item is valid until
// each returns, and has at most most bytes.
func (s *Stream) Read(body io.Reader, name string, most int64, each func(item []byte) error) error {
	in := &bounded{r: body, most: most, left: most}
	err := s.read(json.NewDecoder(in), in, name, each)
	s.Bytes = in.got
	return err
}

func (s *Stream) read(d *json.Decoder, in *bounded, name string, each func(item []byte) error) error {
	none := fmt.Errorf("no list %q", name)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		s.NoList = err == nil || !errors.Is(err, io.ErrUnexpectedEOF)
		return errors.Join(none, err)
	}
	list := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("read a v2 page: %w", err)
		}
		var value json.RawMessage
		if key == name {
			if t, err := d.Token(); err != nil || t != json.Delim('[') {
				s.NoList = err == nil
				return errors.Join(none, err)
			}
			list = true
			if err := items(d, in, each); err != nil {
				return err
			}
			_, err = d.Token()
		} else if err = d.Decode(&value); err == nil && (key == "next_cursor" || key == "next_pagination_key") {
			s.More = s.More || string(value) != "null" && string(value) != `""`
		}
		if err != nil {
			return fmt.Errorf("read a v2 page: %w", err)
		}
	}
	if s.NoList = !list; !list {
		return none
	}
	_, err := d.Token()
	return err
}

func items(d *json.Decoder, in *bounded, each func(item []byte) error) error {
	var value json.RawMessage
	for d.More() {
		in.left = in.most
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("read a v2 call: %w", err)
		}
		if err := each(value); err != nil {
			return err
		}
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
