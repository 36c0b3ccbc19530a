package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// Tables of MPEG audio, layer III: kbit/s by index, and samples per second.
var (
	kbits1 = [15]int64{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	kbits2 = [15]int64{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	rates  = [3]int64{44100, 48000, 32000}
)

// frame is the header of a frame of layer III.
type frame struct {
	length, samples, rate int64 // length in bytes
	channels              int
	first                 bool // version 1; else 2 or 2.5
}

// parseFrame parses four bytes.
func parseFrame(h []byte) (fr frame, ok bool) {
	if len(h) < 4 || h[0] != 0xff || h[1]&0xe6 != 0xe2 {
		return fr, false
	}
	version, rate, bits := h[1]>>3&3, h[2]>>2&3, h[2]>>4
	if version == 1 || rate == 3 || bits == 0 || bits == 15 {
		return fr, false
	}
	fr = frame{samples: 576, rate: rates[rate], channels: 2, first: version == 3}
	kbit := kbits2[bits]
	switch version {
	case 3:
		kbit, fr.samples = kbits1[bits], 1152
	case 2:
		fr.rate /= 2
	case 0:
		fr.rate /= 4
	}
	if h[3]>>6 == 3 {
		fr.channels = 1
	}
	fr.length = fr.samples/8*kbit*1000/fr.rate + int64(h[2]>>1&1)
	return fr, true
}

// isFrame reports whether a file begins with two frames, of which the second may be missing.
func isFrame(head []byte) bool {
	fr, ok := parseFrame(head)
	if !ok {
		return false
	}
	if int64(len(head)) < fr.length+4 {
		return true
	}
	_, ok = parseFrame(head[fr.length:])
	return ok
}

// readMP3 walks over the frames, since their lengths may differ.
func readMP3(f file) (Info, error) {
	offset, err := afterTags(f)
	if err != nil {
		return Info{}, err
	}
	var info Info
	var samples, rate, frames, promised int64
	w := window{file: f}
	for offset < f.size {
		h, err := w.peek(offset, 4)
		if err != nil {
			return info, err
		}
		fr, ok := parseFrame(h)
		if !ok {
			if frames == 0 || !isTrailer(&w, offset) {
				return info, broken(frames, h)
			}
			break
		}
		if frames == 0 {
			rate, info.Channels = fr.rate, fr.channels
			if n, ok := index(&w, offset, fr); ok {
				promised, frames = n, -1 // the index is a silent frame, which is not counted
				samples = -fr.samples
			}
		}
		if offset+fr.length > f.size {
			return info, ErrTruncated
		}
		frames++
		samples += fr.samples
		offset += fr.length
	}
	if frames < max(promised, 1) {
		return info, ErrTruncated
	}
	info.Duration = span(uint64(max(samples, 0)), uint64(rate))
	return info, nil
}

func broken(frames int64, head []byte) error {
	if frames == 0 {
		return notAudio(head)
	}
	return errors.New("a frame has no header")
}

// afterTags returns the offset of the first frame.
func afterTags(f file) (offset int64, err error) {
	for {
		var h [10]byte
		if f.size-offset < 10 {
			return offset, nil
		}
		if err := f.at(h[:], offset); err != nil {
			return 0, err
		}
		if string(h[:3]) != "ID3" {
			return offset, nil
		}
		offset += 10 + int64(h[6]&127)<<21 + int64(h[7]&127)<<14 + int64(h[8]&127)<<7 + int64(h[9]&127)
		if h[5]&16 != 0 { // a footer
			offset += 10
		}
		if offset > f.size {
			return 0, ErrTruncated
		}
	}
}

// index returns the number of frames recorded in the first one, if that is an index (Xing).
func index(w *window, offset int64, fr frame) (frames int64, ok bool) {
	// It comes after the side information, whose size depends on version and channels.
	side := int64(32)
	switch {
	case fr.first && fr.channels == 1, !fr.first && fr.channels == 2:
		side = 17
	case !fr.first:
		side = 9
	}
	b, err := w.peek(offset+4+side, 12)
	if err != nil || (string(b[:4]) != "Xing" && string(b[:4]) != "Info") {
		return 0, false
	}
	if b[7]&1 == 0 { // without the number of frames
		return 0, true
	}
	return int64(binary.BigEndian.Uint32(b[8:])), true
}

// isTrailer reports whether only tags or padding follow.
func isTrailer(w *window, offset int64) bool {
	b, err := w.peek(offset, int(min(16, w.size-offset)))
	return err == nil && (bytes.HasPrefix(b, []byte("TAG")) || bytes.HasPrefix(b, []byte("APETAGEX")) ||
		bytes.HasPrefix(b, []byte("LYRICS")) || len(bytes.Trim(b, "\x00")) == 0)
}

// window reads a file forwards in large pieces.
type window struct {
	file
	from int64
	have []byte
	buf  [32 << 10]byte
}

// peek returns n bytes at an offset, valid until the next call.
func (w *window) peek(offset int64, n int) ([]byte, error) {
	if offset < w.from || offset+int64(n) > w.from+int64(len(w.have)) {
		if offset > w.size-int64(n) {
			return nil, errPastEnd
		}
		w.from, w.have = offset, w.buf[:min(int64(len(w.buf)), w.size-offset)]
		if err := w.at(w.have, offset); err != nil {
			w.have = nil
			return nil, err
		}
	}
	return w.have[offset-w.from:][:n], nil
}
