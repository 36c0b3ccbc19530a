// Package recordings is the host of the calls' recordings, which is another one than the service:
// signed links that expire, and audio that is computed from the call. It can be slow, cut answers,
// refuse and lie on demand.
package recordings

import (
	_ "embed"
	"errors"
	"io"

	"callhouse/internal/sandbox/world"
)

// frames are three frames of MP3: silence, the agent's voice and the caller's, which are tones.
//
//go:embed frames.mp3
var frames []byte

// A frame of MP3 at 24 kbit/s and 16 kHz.
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

// sound is a call's recording: one frame after the other, with the voice of whoever speaks first in
// it. It implements io.ReadSeeker, and computes what is read.
type sound struct {
	voices []byte // of each frame
	at     int64
}

// newSound returns the recording of a call that has one.
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
