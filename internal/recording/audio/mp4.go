package audio

import (
	"encoding/binary"
	"errors"
)

// box is a box of MP4: its type, and the place of its content.
type box struct {
	kind     string
	from, to int64
}

// Limits of the number of boxes and their depth: a recording of a call has some dozens.
const (
	mostBoxes = 10_000
	mostDepth = 16
)

// mp4 reads a file of boxes.
type mp4 struct {
	file
	info         Info
	moov, mdat   bool
	boxes, depth int
}

// each calls visit for the boxes between two offsets, until it returns an error.
func (m *mp4) each(from, to int64, visit func(box) error) error {
	if m.depth++; m.depth > mostDepth {
		return errors.New("boxes are nested too deeply")
	}
	defer func() { m.depth-- }()
	for from < to {
		if m.boxes++; m.boxes > mostBoxes {
			return errors.New("too many boxes")
		}
		var h [16]byte
		if err := m.at(h[:8], from); err != nil {
			return err
		}
		length, head := int64(binary.BigEndian.Uint32(h[:])), int64(8)
		switch length {
		case 0: // up to the end
			length = to - from
		case 1:
			if err := m.at(h[8:], from+8); err != nil {
				return err
			}
			length, head = int64(binary.BigEndian.Uint64(h[8:])), 16
		}
		if length < head {
			return errors.New("a box is shorter than its header")
		}
		if length > to-from {
			return errPastEnd
		}
		if err := visit(box{string(h[4:8]), from + head, from + length}); err != nil {
			return err
		}
		from += length
	}
	return nil
}

// within are the boxes that contain the boxes we need.
var within = map[string]bool{"moov": true, "trak": true, "mdia": true, "minf": true, "stbl": true}

// readMP4 reads moov, which may come before or after the samples.
func readMP4(f file) (Info, error) {
	m := mp4{file: f}
	err := m.each(0, f.size, m.visit)
	if err == nil && (!m.moov || !m.mdat) { // in either order
		err = ErrTruncated
	}
	return m.info, err
}

func (m *mp4) visit(b box) error {
	switch {
	case within[b.kind]:
		m.moov = m.moov || b.kind == "moov"
		return m.each(b.from, b.to, m.visit)
	case b.kind == "mdat":
		m.mdat = true
	case b.kind == "mvhd":
		var h [32]byte
		if err := m.at(h[:max(0, min(32, b.to-b.from))], b.from); err != nil {
			return err
		}
		if h[0] == 1 {
			m.info.Duration = span(binary.BigEndian.Uint64(h[24:]), uint64(binary.BigEndian.Uint32(h[20:])))
		} else {
			m.info.Duration = span(uint64(binary.BigEndian.Uint32(h[16:])), uint64(binary.BigEndian.Uint32(h[12:])))
		}
	case b.kind == "stsd" && m.info.Channels == 0:
		return m.each(b.from+8, b.to, m.entry) // after version, flags and the number of entries
	}
	return nil
}

// entry reads the description of a track's samples.
func (m *mp4) entry(b box) error {
	switch b.kind {
	case "mp4a", "Opus", "alac", "fLaC", "ac-3", "ec-3":
		var h [18]byte
		if err := m.at(h[:], b.from); err != nil {
			return err
		}
		m.info.Channels = int(binary.BigEndian.Uint16(h[16:]))
		return m.each(b.from+28, b.to, m.config)
	}
	return nil
}

// config reads the number of channels of AAC: the entry's number is often 2 regardless.
func (m *mp4) config(b box) error {
	if b.kind != "esds" {
		return nil
	}
	h := make([]byte, min(64, b.to-b.from))
	if err := m.at(h, b.from); err != nil {
		return err
	}
	// Nested descriptors: of the stream, its decoder, and the decoder's configuration.
	for rest, heads := h[min(4, len(h)):], map[byte]int{3: 3, 4: 13}; len(rest) > 1; {
		tag := rest[0]
		rest = rest[1:]
		for len(rest) > 0 && rest[0]&128 != 0 { // skip all bytes of the length but the last
			rest = rest[1:]
		}
		rest = rest[min(1, len(rest)):]
		if tag == 5 {
			if len(rest) > 1 && rest[1]>>3&15 != 0 {
				m.info.Channels = int(rest[1] >> 3 & 15)
			}
			return nil
		}
		skip, ok := heads[tag]
		if !ok {
			return nil
		}
		rest = rest[min(skip, len(rest)):]
	}
	return nil
}
