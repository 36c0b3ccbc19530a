package sink

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// A journal segment is a sequence of frames. A frame is a zstd skippable frame of 24 bytes, with
// the lengths and checksums, and a zstd frame of newline-delimited JSON, one record per line; so
// `zstdcat` can read a segment. Integers are little-endian.
//
//	 0  4  0x184D2A5C, the magic of a skippable frame
//	 4  4  16, the length of what follows
//	 8  4  length of the lines, uncompressed
//	12  4  length of the zstd frame
//	16  4  CRC-32C of the zstd frame
//	20  4  CRC-32C of the 20 bytes before
const (
	frameMagic  = 0x184D2A5C
	frameHeader = 24
	// maxFrame is the maximum length that a header may give: a batch holds at least one record, and
	// a record's body may be 64 MiB long.
	maxFrame = 256 << 20
)

// The codec of frames, which may be used concurrently. The journal lives only for minutes, so speed
// counts more than size. Frames have a checksum of their own.
var (
	packer   = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true)))
	unpacker = must(zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true)))
)

// An encoder begins with its first use. A test in a bubble of synctest must not be that.
func init() { packer.EncodeAll(nil, nil) }

func must[T any](codec T, err error) T {
	if err != nil {
		panic(err) // an option is wrong
	}
	return codec
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTorn means that no whole frame starts here.
var errTorn = errors.New("no whole frame")

// appendFrame appends a frame of lines to frames.
func appendFrame(frames, lines []byte) []byte {
	at := len(frames)
	frames = packer.EncodeAll(lines, append(frames, make([]byte, frameHeader)...))
	h, body := frames[at:at+frameHeader], frames[at+frameHeader:]
	le := binary.LittleEndian
	le.PutUint32(h[0:], frameMagic)
	le.PutUint32(h[4:], frameHeader-8)
	le.PutUint32(h[8:], uint32(len(lines)))
	le.PutUint32(h[12:], uint32(len(body)))
	le.PutUint32(h[16:], crc32.Checksum(body, castagnoli))
	le.PutUint32(h[20:], crc32.Checksum(h[:20], castagnoli))
	return frames
}

// frameAt is a frame's description in its header.
type frameAt struct{ raw, packed int }

func parseHeader(h []byte) (frameAt, error) {
	le := binary.LittleEndian
	if len(h) < frameHeader || le.Uint32(h) != frameMagic || le.Uint32(h[4:]) != frameHeader-8 ||
		le.Uint32(h[20:]) != crc32.Checksum(h[:20], castagnoli) {
		return frameAt{}, errTorn
	}
	f := frameAt{raw: int(le.Uint32(h[8:])), packed: int(le.Uint32(h[12:]))}
	if f.raw > maxFrame || f.packed > maxFrame {
		return frameAt{}, errTorn
	}
	return f, nil
}

// readFrame reads the frame at offset of a segment of the given size, and returns its lines and the
// offset of the next one. It returns errTorn if there is no whole frame.
func readFrame(f disk.File, offset, size int64, dst []byte) (lines []byte, next int64, err error) {
	var h [frameHeader]byte
	if offset+frameHeader > size {
		return nil, 0, errTorn
	}
	if _, err := f.ReadAt(h[:], offset); err != nil {
		return nil, 0, fmt.Errorf("read the journal: %w", err)
	}
	at, err := parseHeader(h[:])
	if err != nil {
		return nil, 0, err
	}
	next = offset + frameHeader + int64(at.packed)
	if next > size {
		return nil, 0, errTorn
	}
	packed := make([]byte, at.packed)
	if _, err := f.ReadAt(packed, offset+frameHeader); err != nil {
		return nil, 0, fmt.Errorf("read the journal: %w", err)
	}
	if crc32.Checksum(packed, castagnoli) != binary.LittleEndian.Uint32(h[16:]) {
		return nil, 0, errTorn
	}
	if cap(dst) < at.raw {
		dst = make([]byte, at.raw)
	}
	lines, err = unpacker.DecodeAll(packed, dst[:0:at.raw])
	if err != nil || len(lines) != at.raw {
		return nil, 0, errTorn
	}
	return lines, next, nil
}

// isTorn reports whether what begins at offset can be the end of a write that a crash cut off: part of
// a frame, or zeros that were never overwritten. Anything else is damage.
func isTorn(f disk.File, offset, size int64) bool {
	part := make([]byte, min(size-offset, 64<<10))
	n, _ := f.ReadAt(part, offset)
	at, err := parseHeader(part[:n])
	if n < frameHeader || err == nil && offset+frameHeader+int64(at.packed) > size {
		return true
	}
	for n > 0 && len(bytes.Trim(part[:n], "\x00")) == 0 {
		offset += int64(n)
		n, _ = f.ReadAt(part, offset)
	}
	return offset == size
}

// A record is one line: {"kind":"item","at":1700000000000,"id":"…","start":1700000000000,"body":{…}}.
// The members are in this order; start is the body's start_at, if it has one, and body is the
// response's JSON, in which spaces replace the line ends, which can only be between tokens. Records of
// a resource have its name before the kind, such as "agents.item"; imported ones have "import".
var kindWords = [...]string{
	schema.KindItem: "item", schema.KindDetail: "detail", schema.KindMissing: "missing", schema.KindCovered: "covered",
	schema.KindListed: "listed", schema.KindBulk: "bulk", schema.KindBulkState: "bulk_state",
	schema.KindSkipped: "skipped", schema.KindRest: "rest", schema.KindRecording: "recording",
	schema.KindUnreadable: "unreadable",
}

const (
	atMember     = `","at":`
	idMember     = `,"id":`
	startMember  = `,"start":`
	bodyMember   = `,"body":`
	importedWord = "import"
)

func appendRecord(dst []byte, r *schema.Record) ([]byte, error) {
	id, err := json.Marshal(r.CallID)
	if err != nil {
		return dst, fmt.Errorf("encode a call id: %w", err)
	}
	dst = append(dst, `{"kind":"`...)
	if of := r.Resource; of != "" || r.Imported {
		if r.Imported {
			of = importedWord
		}
		dst = append(append(dst, of...), '.')
	}
	dst = append(append(dst, kindWords[r.Kind]...), atMember...)
	dst = append(append(strconv.AppendInt(dst, r.FetchedAt, 10), idMember...), id...)
	if r.Started {
		if dst = append(dst, startMember...); r.Start.OK {
			dst = strconv.AppendInt(dst, r.Start.V, 10)
		} else {
			dst = append(dst, "null"...)
		}
	}
	if r.Body != nil {
		dst = append(dst, bodyMember...)
		start := len(dst)
		dst = append(dst, r.Body...)
		for _, end := range []byte{'\n', '\r'} {
			for rest := dst[start:]; ; {
				i := bytes.IndexByte(rest, end)
				if i < 0 {
					break
				}
				rest[i] = ' '
				rest = rest[i+1:]
			}
		}
	}
	return append(dst, '}', '\n'), nil
}

// parseRecord parses one line; the body aliases it.
func parseRecord(line []byte) (schema.Record, error) {
	var r schema.Record
	bad := func(what string) (schema.Record, error) {
		return r, fmt.Errorf("parse a journal record: %s in %.60q", what, line)
	}
	rest, ok := bytes.CutPrefix(line, []byte(`{"kind":"`))
	if !ok {
		return bad("no kind")
	}
	word, rest, ok := bytes.Cut(rest, []byte(atMember))
	if !ok {
		return bad("no time")
	}
	if of, kind, ok := bytes.Cut(word, []byte(".")); ok {
		if r.Imported = string(of) == importedWord; !r.Imported {
			r.Resource = string(of)
		}
		word = kind
	}
	for k, w := range kindWords {
		if w != "" && w == string(word) {
			r.Kind = schema.Kind(k)
		}
	}
	if r.Kind == 0 {
		return bad("an unknown kind")
	}
	at, rest, ok := bytes.Cut(rest, []byte(idMember))
	if !ok {
		return bad("no id")
	}
	var err error
	if r.FetchedAt, err = strconv.ParseInt(string(at), 10, 64); err != nil {
		return bad("a bad time")
	}
	end := stringEnd(rest)
	if end < 0 || json.Unmarshal(rest[:end], &r.CallID) != nil {
		return bad("a bad id")
	}
	rest = rest[end:]
	if start, ok := bytes.CutPrefix(rest, []byte(startMember)); ok {
		end := bytes.IndexAny(start, ",}")
		if end < 0 {
			return bad("a cut start")
		}
		r.Started = true
		if text := string(start[:end]); text != "null" {
			if r.Start.V, err = strconv.ParseInt(text, 10, 64); err != nil {
				return bad("a bad start")
			}
			r.Start.OK = true
		}
		rest = start[end:]
	}
	if body, ok := bytes.CutPrefix(rest, []byte(bodyMember)); ok {
		if len(body) < 2 || body[len(body)-1] != '}' {
			return bad("a cut body")
		}
		r.Body = body[:len(body)-1]
	} else if string(rest) != "}" {
		return bad("no end")
	}
	return r, nil
}

// stringEnd returns the index after the JSON string that b starts with, or -1.
func stringEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
