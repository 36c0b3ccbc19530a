package recording

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the format of a recording. It is also the extension of its file.
type Format string

// Formats.
const (
	MP3     Format = "mp3"
	AAC     Format = "aac"
	Unknown Format = "bin"
)

// formats are the known formats and their media types, the usual one first.
var formats = map[Format][]string{
	MP3:     {"audio/mpeg", "audio/mp3"},
	"wav":   {"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"},
	"ogg":   {"audio/ogg", "application/ogg"},
	"m4a":   {"audio/mp4", "audio/m4a", "audio/x-m4a", "video/mp4"},
	"flac":  {"audio/flac", "audio/x-flac"},
	"webm":  {"audio/webm", "video/webm"},
	AAC:     {"audio/aac", "audio/aacp", "audio/x-aac"},
	"amr":   {"audio/amr", "audio/amr-wb"},
	"aiff":  {"audio/aiff", "audio/x-aiff"},
	"au":    {"audio/basic"},
	"gz":    {"application/gzip", "application/x-gzip"},
	Unknown: {"application/octet-stream"},
}

// MediaType returns the media type of a format's files.
func (f Format) MediaType() string { return append(formats[f], formats[Unknown]...)[0] }

// headSize is the number of bytes that decide about a format.
const headSize = 512

// formatOf returns the format of a file, by its first bytes or else by the media type that the host
// sent. If the file is plainly no recording, such as a web page or an error in XML or JSON, other
// describes it.
func formatOf(head []byte, kind string) (f Format, other string) {
	looks, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	if f := cmp.Or(beginningOf(head), of(looks)); f != Unknown {
		return f, ""
	}
	text := isText(head)
	switch {
	case len(head) == 0:
		return "", "nothing"
	case looks == "text/html":
		return "", "a web page"
	// Servers that guess call sound without a header text/plain.
	case (text || strings.HasPrefix(looks, "text/")) && kind != "text/plain" &&
		(strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml")):
		return "", kind
	case strings.HasPrefix(looks, "text/") && text, strings.HasPrefix(looks, "image/"), looks == "application/pdf":
		return "", looks
	}
	return of(kind), ""
}

// of returns the format with a media type.
func of(media string) Format {
	for f, known := range formats {
		if slices.Contains(known, media) {
			return f
		}
	}
	return Unknown
}

// beginningOf returns the format of a file that begins with what net/http does not know: the header of
// an MPEG frame, without a container, or that of some other formats; empty if it does not.
func beginningOf(h []byte) Format {
	switch {
	case bytes.HasPrefix(h, []byte("fLaC")):
		return "flac"
	case bytes.HasPrefix(h, []byte("#!AMR")):
		return "amr"
	case len(h) >= 8 && string(h[4:8]) == "ftyp":
		return "m4a"
	case len(h) < 4 || h[0] != 0xff || h[1]&0xe0 != 0xe0:
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

// isText reports whether the beginning of a file is valid UTF-8. Its last character may be cut off.
func isText(head []byte) bool {
	whole := head
	for len(head) == headSize && len(whole) > headSize-utf8.UTFMax && !utf8.Valid(whole) {
		whole = whole[:len(whole)-1]
	}
	return utf8.Valid(whole)
}
