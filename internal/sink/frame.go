package sink

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

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

// Encoders begin with their first use. A test in a bubble of synctest must not be that.
func init() { pageEncoder.EncodeAll(packer.EncodeAll(nil, nil), nil) }

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

// kindWords are the kinds in records: see recordHead.
var kindWords = [...]string{
	schema.KindItem: "item", schema.KindDetail: "detail", schema.KindMissing: "missing", schema.KindCovered: "covered",
	schema.KindListed: "listed", schema.KindBulk: "bulk", schema.KindBulkState: "bulk_state",
	schema.KindSkipped: "skipped", schema.KindRecording: "recording",
	schema.KindUnreadable: "unreadable",
}

// recordHead begins a record's line; a tab and the body follow if there is one. In the body, which is
// the response's JSON, spaces replace the line ends, which can only be between tokens.
type recordHead struct {
	Kind     string `json:"kind"`
	Resource string `json:"of,omitempty"`
	Imported bool   `json:"import,omitempty"`
	At       int64  `json:"at"`
	ID       string `json:"id"`
	Started  bool   `json:"started,omitempty"`
	Start    *int64 `json:"start,omitempty"`
}

func appendRecord(dst []byte, r *schema.Record) ([]byte, error) {
	h := recordHead{Kind: kindWords[r.Kind], Resource: r.Resource, Imported: r.Imported, At: r.FetchedAt, ID: r.CallID, Started: r.Started}
	if r.Start.OK {
		h.Start = &r.Start.V
	}
	head, err := json.Marshal(&h)
	if err != nil {
		return dst, fmt.Errorf("encode a journal record: %w", err)
	}
	dst = append(dst, head...)
	if r.Body != nil {
		dst = append(dst, '\t')
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
	return append(dst, '\n'), nil
}

// parseRecord parses one line; the body aliases it.
func parseRecord(line []byte) (schema.Record, error) {
	head, body, has := bytes.Cut(line, []byte("\t"))
	var h recordHead
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	err := d.Decode(&h)
	kind := slices.Index(kindWords[:], h.Kind)
	switch {
	case err != nil:
	case kind <= 0:
		err = errors.New("an unknown kind")
	case int(d.InputOffset()) < len(head) || !has && !schema.Kind(kind).Bodiless() && h.Resource == "": // an object may have gone
		err = errors.New("no body follows its head")
	}
	if err != nil {
		return schema.Record{}, fmt.Errorf("parse a journal record: %w in %.60q", err, line)
	}
	r := schema.Record{Resource: h.Resource, Kind: schema.Kind(kind), CallID: h.ID, FetchedAt: h.At, Body: body, Imported: h.Imported,
		Started: h.Started}
	if h.Start != nil {
		r.Start = schema.Some(*h.Start)
	}
	return r, nil
}
