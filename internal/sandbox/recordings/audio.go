// Package recordings is the host of the calls' recordings, separate from the service: signed links
// that expire, and audio computed from the call.
package recordings

import (
	_ "embed"
	"errors"
	"io"

	"callhouse/internal/sandbox/world"
)

// frames are three MP3 frames: silence, and a tone each for the agent's and the caller's voice.
//
//go:embed frames.mp3
var frames []byte

// An MP3 frame at 24 kbit/s and 16 kHz.
const (
	frameBytes  = 108
	frameMillis = 36
)

// Voices of a frame.
const (
	silence = iota
	agent
	caller
)

// sound is a call's recording: a sequence of frames, each with the voice of its first speaker. It
// implements io.ReadSeeker, and computes its content when read.
type sound struct {
	voices []byte // of each frame
	at     int64
}

// newSound returns the recording of a call, which must have one.
func newSound(v *world.View) *sound {
	s := &sound{voices: make([]byte, (v.EndAt-v.StartAt+frameMillis-1)/frameMillis)}
	for _, t := range v.Turns() {
		voice := byte(caller)
		switch {
		case t.EndAt == 0: // a tool
			continue
		case t.Role == "agent":
			voice = agent
		}
		for i := (t.StartAt - v.StartAt) / frameMillis; i < (t.EndAt-v.StartAt)/frameMillis && i < int64(len(s.voices)); i++ {
			if s.voices[i] == silence {
				s.voices[i] = voice
			}
		}
	}
	return s
}

func (s *sound) size() int64 { return int64(len(s.voices)) * frameBytes }

// Read implements io.Reader.
func (s *sound) Read(p []byte) (n int, err error) {
	for n < len(p) && s.at < s.size() {
		voice, offset := int64(s.voices[s.at/frameBytes]), s.at%frameBytes
		c := copy(p[n:], frames[voice*frameBytes+offset:(voice+1)*frameBytes])
		n += c
		s.at += int64(c)
	}
	if n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Seek implements io.Seeker.
func (s *sound) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size()
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	s.at = offset
	return offset, nil
}
