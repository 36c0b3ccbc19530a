// Package audio reads the container formats of recordings: the format, duration and number of
// channels of a file, and whether its end is missing. It decodes no sound and opens no files.
package audio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Info describes a recording.
type Info struct {
	Format   Format
	Duration time.Duration // zero: unspecified
	Channels int           // zero: unspecified
}

// Format is a container of audio. It is also the extension of its files.
type Format string

// Formats.
const (
	WAV  Format = "wav"
	MP3  Format = "mp3"
	Ogg  Format = "ogg" // with Opus or Vorbis
	MP4  Format = "m4a"
	FLAC Format = "flac"
	WebM Format = "webm"
)

// Formats lists all formats.
var Formats = []Format{MP3, WAV, Ogg, MP4, FLAC, WebM}

// MediaType returns the media type of a format's files.
func (f Format) MediaType() string {
	switch f {
	case MP3:
		return "audio/mpeg"
	case MP4:
		return "audio/mp4"
	}
	return "audio/" + string(f)
}

// OfMediaType returns the format of a media type.
func OfMediaType(kind string) (Format, bool) {
	switch kind {
	case "audio/mpeg", "audio/mp3":
		return MP3, true
	case "audio/mp4", "audio/m4a", "audio/x-m4a":
		return MP4, true
	case "audio/x-wav", "audio/vnd.wave":
		return WAV, true
	case "audio/x-flac":
		return FLAC, true
	}
	f := Format(strings.TrimPrefix(kind, "audio/"))
	return f, slices.Contains([]Format{WAV, Ogg, FLAC, WebM}, f)
}

// ErrTruncated means that the end of a file is missing.
var ErrTruncated = errors.New("the end of the recording is missing")

// NotAudioError means that a file is not audio in a known container.
type NotAudioError struct {
	Type string // its apparent media type
}

func (e *NotAudioError) Error() string { return "not audio in a known format, but " + e.Type }

// containers are the known formats, with the beginnings of their files and their readers.
var containers = []struct {
	format Format
	begins func(head []byte) bool
	read   func(file) (Info, error)
}{
	{WAV, func(h []byte) bool { return at(h, 0, "RIFF") && at(h, 8, "WAVE") }, readWAV},
	{Ogg, func(h []byte) bool { return at(h, 0, "OggS") }, readOgg},
	{MP4, func(h []byte) bool { return at(h, 4, "ftyp") }, readMP4},
	{FLAC, func(h []byte) bool { return at(h, 0, "fLaC") }, readFLAC},
	{WebM, func(h []byte) bool { return at(h, 0, "\x1aE\xdf\xa3") && bytes.Contains(h, []byte("webm")) }, readWebM},
	{MP3, func(h []byte) bool { return at(h, 0, "ID3") || isFrame(h) }, readMP3},
}

func at(head []byte, offset int, text string) bool {
	return len(head) >= offset+len(text) && string(head[offset:offset+len(text)]) == text
}

// Read reads a file's headers. Its time grows with the number of frames or pages; its memory does
// not. The error is ErrTruncated, a *NotAudioError, one that describes a fault in the container, or
// one of r.
func Read(r io.ReaderAt, size int64) (Info, error) {
	head := make([]byte, min(512, size))
	f := file{r, size}
	if err := f.at(head, 0); err != nil {
		return Info{}, err
	}
	for _, c := range containers {
		if !c.begins(head) {
			continue
		}
		info, err := c.read(f)
		if errors.Is(err, errPastEnd) {
			err = ErrTruncated
		}
		if err != nil && !errors.Is(err, ErrTruncated) {
			if n := (*NotAudioError)(nil); !errors.As(err, &n) {
				err = fmt.Errorf("%s: %w", c.format, err)
			}
		}
		info.Format = c.format
		return info, err
	}
	return Info{}, notAudio(head)
}

func notAudio(head []byte) error {
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return &NotAudioError{kind}
}

// errPastEnd means that a container refers to bytes beyond its file.
var errPastEnd = errors.New("past the end")

// file is a file of known size.
type file struct {
	r    io.ReaderAt
	size int64
}

// at reads len(p) bytes at an offset.
func (f file) at(p []byte, offset int64) error {
	if offset < 0 || offset > f.size-int64(len(p)) {
		return errPastEnd
	}
	n, err := f.r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return errPastEnd
	}
	return err
}

// span returns the time that a number of samples takes.
func span(samples, rate uint64) time.Duration {
	if rate == 0 || samples > 1<<53 {
		return 0
	}
	return time.Duration(float64(samples) / float64(rate) * float64(time.Second)).Round(time.Millisecond)
}
