package audio_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/recording/audio"
)

// made has ffprobe's results for the files in testdata, which were made with ffmpeg
// (testdata/make).
var made = map[string]audio.Info{
	"pcm_mono.wav":     {Format: audio.WAV, Duration: 1000 * time.Millisecond, Channels: 1},
	"pcm_stereo.wav":   {Format: audio.WAV, Duration: 1000 * time.Millisecond, Channels: 2},
	"mulaw.wav":        {Format: audio.WAV, Duration: 1000 * time.Millisecond, Channels: 1},
	"piped.wav":        {Format: audio.WAV, Duration: 1000 * time.Millisecond, Channels: 1},
	"cbr.mp3":          {Format: audio.MP3, Duration: 1080 * time.Millisecond, Channels: 1},
	"vbr_stereo.mp3":   {Format: audio.MP3, Duration: 1045 * time.Millisecond, Channels: 2},
	"mpeg25.mp3":       {Format: audio.MP3, Duration: 1152 * time.Millisecond, Channels: 1},
	"opus.ogg":         {Format: audio.Ogg, Duration: 1000 * time.Millisecond, Channels: 1},
	"vorbis.ogg":       {Format: audio.Ogg, Duration: 1000 * time.Millisecond, Channels: 2},
	"aac.m4a":          {Format: audio.MP4, Duration: 1000 * time.Millisecond, Channels: 1},
	"faststart.m4a":    {Format: audio.MP4, Duration: 1000 * time.Millisecond, Channels: 2},
	"flac.flac":        {Format: audio.FLAC, Duration: 1000 * time.Millisecond, Channels: 1},
	"web.webm":         {Format: audio.WebM},
	"fragmented.m4a":   {Format: audio.MP4, Channels: 1},
	"tagged_twice.mp3": {Format: audio.MP3, Duration: 1080 * time.Millisecond, Channels: 1},
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRead(t *testing.T) {
	for name, want := range made {
		b := read(t, name)
		got, err := audio.Read(bytes.NewReader(b), int64(len(b)))
		if off := got.Duration - want.Duration; err != nil || got.Format != want.Format || got.Channels != want.Channels ||
			off.Abs() > 80*time.Millisecond { // players differ by a frame or two
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
}

// TestTruncated cuts files at every byte. A cut file is never accepted as a complete one of its
// length, unless its format has no end marker.
func TestTruncated(t *testing.T) {
	open := map[string]bool{"piped.wav": true, "flac.flac": true, "web.webm": true,
		"mpeg25.mp3": true, "opus.ogg": true, "vorbis.ogg": true, "fragmented.m4a": true, // if cut at the end of a frame, page or box
		"tagged_twice.mp3": true} // if cut in the tag after the sound
	for name := range made {
		b := read(t, name)
		whole, _ := audio.Read(bytes.NewReader(b), int64(len(b)))
		passed := 0
		for n := range b {
			got, err := audio.Read(bytes.NewReader(b[:n]), int64(n))
			if err == nil {
				passed++
				if !open[name] {
					t.Errorf("%s, first %d of %d bytes: %v", name, n, len(b), got)
				}
			}
		}
		if open[name] != (passed > 0) {
			t.Errorf("%s (%v): %d of %d parts pass", name, whole, passed, len(b))
		}
	}
}

func TestNotAudio(t *testing.T) {
	for text, kind := range map[string]string{
		"<!DOCTYPE html><html><body>Access denied</body></html>":        "text/html",
		`<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`: "text/xml",
		`{"error":"expired"}`:     "text/plain",
		"":                        "text/plain",
		"\x89PNG\x0D\x0A\x1A\x0A": "image/png",
		"\xff\xfb\x90\x64" + string(make([]byte, 5000)): "application/octet-stream",
	} {
		_, err := audio.Read(bytes.NewReader([]byte(text)), int64(len(text)))
		if n := (*audio.NotAudioError)(nil); !errors.As(err, &n) || n.Type != kind {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for name := range made {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := audio.Read(bytes.NewReader(b), int64(len(b)))
		if err == nil && (info.Format == "" || info.Duration < 0 || info.Channels < 0) {
			t.Errorf("%+v", info)
		}
	})
}
