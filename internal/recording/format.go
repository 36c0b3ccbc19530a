package recording

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the format of a recording. It is also the extension of its file.
type Format string

// Unknown is the format of a file that neither its first bytes nor its host tells.
const Unknown Format = "bin"

// formats are the known formats and their media types, the usual one first.
var formats = map[Format][]string{
	"mp3":   {"audio/mpeg", "audio/mp3"},
	"wav":   {"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"},
	"ogg":   {"audio/ogg", "application/ogg"},
	"m4a":   {"audio/mp4", "audio/m4a", "audio/x-m4a", "video/mp4"},
	"flac":  {"audio/flac", "audio/x-flac"},
	"webm":  {"audio/webm", "video/webm"},
	"aac":   {"audio/aac", "audio/aacp", "audio/x-aac"},
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
	if f := of(looks); f != Unknown {
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

// isText reports whether the beginning of a file is valid UTF-8. Its last character may be cut off.
func isText(head []byte) bool {
	whole := head
	for len(head) == headSize && len(whole) > headSize-utf8.UTFMax && !utf8.Valid(whole) {
		whole = whole[:len(whole)-1]
	}
	return utf8.Valid(whole)
}
