package recording

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"net/http"
	"strings"
)

// digest is a checksum of a body that its host sent, and the one of the received bytes.
type digest struct {
	hash.Hash
	want []byte
}

// digests are the known checksums, strongest first.
var digests = []struct {
	name string
	new  func() hash.Hash
}{
	{"sha-256", sha256.New},
	{"md5", md5.New},
	{"crc32c", func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
}

// digestOf returns the checksum in an answer's headers; nil if there is none that is known.
func digestOf(h http.Header) *digest {
	sent := map[string]string{}
	for _, name := range []string{"Content-Digest", "Repr-Digest", "X-Goog-Hash"} {
		if name == "X-Goog-Hash" && h.Get("X-Goog-Stored-Content-Encoding") == "gzip" {
			continue // it is that of the compressed object
		}
		for _, list := range h.Values(name) {
			for _, item := range strings.Split(list, ",") {
				by, value, _ := strings.Cut(strings.TrimSpace(item), "=")
				sent[strings.ToLower(by)] = strings.Trim(value, ":")
			}
		}
	}
	if v := h.Get("Content-MD5"); v != "" {
		sent["md5"] = v
	}
	for _, d := range digests {
		sum := d.new()
		if want, err := base64.StdEncoding.DecodeString(sent[d.name]); err == nil && len(want) == sum.Size() {
			return &digest{sum, want}
		}
	}
	return nil
}

// fits reports whether the received bytes have the checksum that was sent.
func (d *digest) fits() bool { return d == nil || bytes.Equal(d.Sum(nil), d.want) }
