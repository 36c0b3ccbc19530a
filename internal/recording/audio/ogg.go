package audio

import (
	"encoding/binary"
	"errors"
)

// readOgg walks over the pages of the first audio stream.
func readOgg(f file) (Info, error) {
	var info Info
	var serial uint32
	var skip, rate, last uint64
	w := window{file: f}
	for offset := int64(0); offset < f.size; {
		h, err := w.peek(offset, 27)
		if err != nil {
			return info, err
		}
		if string(h[:4]) != "OggS" {
			return info, errors.New("a page has no header")
		}
		granule, of, segments := binary.LittleEndian.Uint64(h[6:]), binary.LittleEndian.Uint32(h[14:]), int(h[26])
		lengths, err := w.peek(offset+27, segments)
		if err != nil {
			return info, err
		}
		body := int64(0)
		for _, n := range lengths {
			body += int64(n)
		}
		offset += 27 + int64(segments)
		if offset+body > f.size {
			return info, ErrTruncated
		}
		if rate == 0 {
			b, err := w.peek(offset, int(min(body, 19)))
			if err != nil {
				return info, err
			}
			switch {
			case len(b) == 19 && string(b[:8]) == "OpusHead":
				serial, rate, skip, info.Channels = of, 48000, uint64(binary.LittleEndian.Uint16(b[10:])), int(b[9])
			case len(b) >= 16 && string(b[:7]) == "\x01vorbis":
				serial, rate, info.Channels = of, uint64(binary.LittleEndian.Uint32(b[12:])), int(b[11])
			}
		} else if of == serial && granule != 1<<64-1 { // no packet ends on this page
			last = granule
		}
		offset += body
	}
	if rate == 0 {
		return info, errors.New("it has neither Opus nor Vorbis")
	}
	info.Duration = span(max(last, skip)-skip, rate)
	return info, nil
}
