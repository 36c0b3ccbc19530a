package recordings

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// Elsewhere is the base address of links if the company has no recordings host.
const Elsewhere = "https://recordings.voice.example"

const objects = "/v1/objects/calls/"

// AppendLink appends a signed link to a call's recording. As at the service, signature and expiry
// change every hour, so two answers with the same call differ. A link works for one to two hours.
func AppendLink(dst []byte, address string, v *world.View) []byte {
	hour := v.At / time.Hour.Milliseconds()
	dst = v.ID.Append(append(append(dst, address...), objects...))
	dst = wire.AppendHex(append(dst, `/mixed.mp3?response-content-type=audio%2Fmpeg&key-id=VREC`...), dice.Hash(v.Key, 12))
	dst = strconv.AppendInt(append(dst, `&expires=`...), (hour+2)*3600, 10)
	return append(append(dst, `&signature=`...), signature(v, hour)...)
}

func signature(v *world.View, hour int64) []byte {
	var out []byte
	for i := range uint64(4) {
		out = wire.AppendHex(out, dice.Hash(v.Key^uint64(hour), 13+i))
	}
	return out
}

// Host serves recordings over HTTP.
type Host struct {
	World *world.World
	Now   func() time.Time // the data's clock
}

// Serve serves a host on l, which it takes over, until ctx is done.
func Serve(ctx context.Context, l net.Listener, h *Host) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	go func() { _ = s.Serve(l) }() // http.ErrServerClosed
}

// ServeHTTP implements http.Handler. Errors about a link are XML, as from object stores.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, objects), "/mixed.mp3")
	v, found := h.World.Find(id, h.Now())
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	case !ok || !found || !v.Recording:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case !h.signed(r, v):
		refuse(w, http.StatusForbidden, "AccessDenied")
	default:
		w.Header().Set("Content-Type", "audio/mpeg")
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, dice.Hash(v.Key, 22)))
		http.ServeContent(w, r, "", time.Time{}, newSound(v))
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code></Error>`, code)
}

// signed reports whether a link is valid for a call and has not expired.
func (h *Host) signed(r *http.Request, v *world.View) bool {
	q := r.URL.Query()
	expires, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	return err == nil && h.Now().Unix() < expires && q.Get("signature") == string(signature(v, expires/3600-2))
}
