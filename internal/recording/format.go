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

// Formats.
const (
	MP3     Format = "mp3"
	AAC     Format = "aac"
	Unknown Format = "bin"
)

// formats are the known formats, each with its media types, the usual one first.
var formats = []struct {
	Format
	media []string
}{
	{MP3, []string{"audio/mpeg", "audio/mp3"}},
	{"wav", []string{"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"}},
	{"ogg", []string{"audio/ogg", "application/ogg"}},
	{"m4a", []string{"audio/mp4", "audio/m4a", "audio/x-m4a", "video/mp4"}},
	{"flac", []string{"audio/flac", "audio/x-flac"}},
	{"webm", []string{"audio/webm", "video/webm"}},
	{AAC, []string{"audio/aac", "audio/aacp", "audio/x-aac"}},
	{"amr", []string{"audio/amr", "audio/amr-wb"}},
	{"aiff", []string{"audio/aiff", "audio/x-aiff"}},
	{"au", []string{"audio/basic"}},
	{"gz", []string{"application/gzip", "application/x-gzip"}},
	{Unknown, []string{"application/octet-stream"}},
}

// MediaType returns the media type of a format's files.
func (f Format) MediaType() string {
	for _, k := range formats {
		if k.Format == f {
			return k.media[0]
		}
	}
	return "application/octet-stream"
}

// headSize is the number of bytes that decide about a format.
const headSize = 512

// formatOf returns the format of a file, by its first bytes or else by the media type that the host
// sent. If the file is plainly no recording, such as a web page or an error in XML or JSON, other
// describes it.
func formatOf(head []byte, kind string) (f Format, other string) {
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
	case strings.HasPrefix(looks, "text/") && isText(head), strings.HasPrefix(looks, "image/"), looks == "application/pdf":
		return "", looks
	}
	if f := frameOf(head); f != "" {
		return f, ""
	}
	for _, media := range []string{looks, kind} {
		for _, known := range formats {
			if known.Format != Unknown && slices.Contains(known.media, media) {
				return known.Format, ""
			}
		}
	}
	return Unknown, ""
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

// isText reports whether the beginning of a file is valid UTF-8. Its last character may be cut off.
func isText(head []byte) bool {
	whole := head
	for len(head) == headSize && len(whole) > headSize-utf8.UTFMax && !utf8.Valid(whole) {
		whole = whole[:len(whole)-1]
	}
	return utf8.Valid(whole)
}
