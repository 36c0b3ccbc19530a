package audio

import (
	"encoding/binary"
	"errors"
	"math"
)

// readWAV reads the chunks of a RIFF file up to its samples.
func readWAV(f file) (Info, error) {
	var info Info
	var perSecond uint32
	for offset, chunks := int64(12), 0; chunks < 1000; chunks++ {
		var head [8]byte
		if err := f.at(head[:], offset); err != nil {
			return info, err
		}
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		offset += 8
		switch string(head[:4]) {
		case "fmt ":
			var format [16]byte
			if err := f.at(format[:], offset); err != nil {
				return info, err
			}
			info.Channels = int(binary.LittleEndian.Uint16(format[2:]))
			perSecond = binary.LittleEndian.Uint32(format[8:])
		case "data":
			if perSecond == 0 {
				return info, errors.New("its samples have no format")
			}
			// A program that writes to a pipe does not know the length.
			if length == math.MaxUint32 || length == 0 {
				length = f.size - offset
			}
			if offset+length > f.size {
				return info, ErrTruncated
			}
			info.Duration = span(uint64(length), uint64(perSecond))
			return info, nil
		}
		offset += length + length%2
	}
	return info, errors.New("too many chunks before its samples")
}

// readFLAC reads the first metadata block. The file does not contain its own length.
func readFLAC(f file) (Info, error) {
	var b [26]byte
	if err := f.at(b[:], 0); err != nil {
		return Info{}, err
	}
	packed := binary.BigEndian.Uint64(b[18:])
	return Info{Duration: span(packed&(1<<36-1), packed>>44), Channels: int(packed>>41&7) + 1}, nil
}

// readWebM only identifies the format: browsers do not record the duration.
func readWebM(file) (Info, error) { return Info{}, nil }
