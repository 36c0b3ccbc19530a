package recording

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the format of a recording, according to its first bytes. It is also the extension of its
// file.
type Format string

// Formats.
const (
	WAV     Format = "wav"
	MP3     Format = "mp3"
	AAC     Format = "aac"
	Unknown Format = "bin"
)

// format describes the files of a format: how they begin, where ? stands for any byte, and their
// media types, the usual one first.
type format struct {
	format Format
	begin  []string
	media  []string
}

var formats = []format{
	{MP3, []string{"ID3"}, []string{"audio/mpeg", "audio/mp3"}},
	{WAV, []string{"RIFF????WAVE", "RIFX????WAVE", "RF64????WAVE"}, []string{"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"}},
	{"ogg", []string{"OggS"}, []string{"audio/ogg"}},
	{"m4a", []string{"????ftyp"}, []string{"audio/mp4", "audio/m4a", "audio/x-m4a"}},
	{"flac", []string{"fLaC"}, []string{"audio/flac", "audio/x-flac"}},
	{"webm", []string{"\x1aE\xdf\xa3"}, []string{"audio/webm"}},
	{AAC, nil, []string{"audio/aac", "audio/aacp", "audio/x-aac"}},
	{"amr", []string{"#!AMR"}, []string{"audio/amr", "audio/amr-wb"}},
	{"aiff", []string{"FORM????AIFF", "FORM????AIFC"}, []string{"audio/aiff", "audio/x-aiff"}},
	{"au", []string{".snd"}, []string{"audio/basic"}},
	{"caf", []string{"caff"}, []string{"audio/x-caf"}},
	{"wma", []string{"\x30\x26\xb2\x75\x8e\x66\xcf\x11"}, []string{"audio/x-ms-wma"}},
	{"sph", []string{"NIST_1A\n"}, []string{"audio/x-nist"}},
	{"gz", []string{"\x1f\x8b\x08"}, []string{"application/gzip", "application/x-gzip"}},
	{Unknown, nil, []string{"application/octet-stream"}},
}

// MediaType returns the media type of a format's files.
func (f Format) MediaType() string {
	for _, k := range formats {
		if k.format == f {
			return k.media[0]
		}
	}
	return "application/octet-stream"
}

// headSize is the number of bytes that decide about a format.
const headSize = 4096

// formatOf returns the format of a file with the given first bytes and media type. If the file is
// plainly no recording, such as a web page or an error in XML or JSON, other describes it.
func formatOf(head []byte, kind string) (f Format, other string) {
	for _, k := range formats {
		for _, begin := range k.begin {
			if begins(head, begin) {
				return k.format, ""
			}
		}
	}
	if f := frameOf(head); f != "" {
		return f, ""
	}
	looks, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	// Servers that guess call sound without a header text/plain.
	named := strings.HasPrefix(kind, "text/") && kind != "text/plain" || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml")
	switch {
	case len(head) == 0:
		return "", "nothing"
	case looks == "text/html" || kind == "text/html":
		return "", "a web page"
	case named:
		return "", kind
	case isText(head), strings.HasPrefix(looks, "image/"), looks == "application/pdf":
		return "", looks
	}
	return Unknown, ""
}

// begins reports whether a file begins with a pattern, in which ? stands for any byte.
func begins(head []byte, pattern string) bool {
	if len(head) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != '?' && pattern[i] != head[i] {
			return false
		}
	}
	return true
}

// frameOf returns the format of a stream that begins with the header of an MPEG frame, without a
// container; empty if it does not.
func frameOf(h []byte) Format {
	if len(h) < 4 || h[0] != 0xff || h[1]&0xe0 != 0xe0 {
		return ""
	}
	version, layer, bitrate, rate := h[1]>>3&3, h[1]>>1&3, h[2]>>4, h[2]>>2&3
	switch {
	case h[1]&0xf6 == 0xf0 && h[2]>>2&15 < 13:
		return AAC
	case version != 1 && (layer == 1 || layer == 2) && bitrate != 0 && bitrate != 15 && rate != 3:
		return MP3
	}
	return ""
}

// isText reports whether the beginning of a file is text: valid UTF-8 without control characters.
func isText(head []byte) bool {
	for cut := 0; cut < utf8.UTFMax-1 && len(head) == headSize && !utf8.Valid(head); cut++ { // a character may be cut off
		head = head[:len(head)-1]
	}
	return utf8.Valid(head) && !slices.ContainsFunc(head, func(b byte) bool {
		return b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f'
	})
}
