package recordings

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// Fault is a permanent fault of a call's recording.
type Fault string

// Faults. With the first two, a client that resumes an interrupted download gets everything.
const (
	Cut       Fault = "cut"       // an answer without Range is cut in the middle
	Once      Fault = "503"       // the first request for a recording is answered with 503
	Slow      Fault = "slow"      // one frame every tenth of a second
	Truncated Fault = "truncated" // the second half is missing without any sign of it
	Length    Fault = "length"    // the announced length is twice the real one
	Forbidden Fault = "403"       // every link is refused
	Missing   Fault = "404"       // the recording was deleted
	Page      Fault = "html"      // 200 with a web page
	Redirect  Fault = "redirect"  // to the address in Host.Third
	Busy      Fault = "busy"      // 503 with Retry-After: 3500
)

// Faults of recordings that come later than their links: until up to 12 hours after the end of the
// call there is something else, with the status and media type of the table.
const (
	Late404   Fault = "late-404"
	Late410   Fault = "late-410"
	LateXML   Fault = "late-xml"
	LateHTML  Fault = "late-html"
	LateEmpty Fault = "late-empty"
)

var late = map[Fault]struct {
	status     int
	kind, body string
}{
	Late404:   {404, "application/xml", notYet},
	Late410:   {410, "application/xml", notYet},
	LateXML:   {200, "application/xml", notYet},
	LateHTML:  {200, "text/html; charset=utf-8", "<!DOCTYPE html><title>Processing</title><p>The recording is being processed.</p>"},
	LateEmpty: {200, "audio/mpeg", ""},
}

const notYet = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code></Error>`

// Faults of the format.
const (
	Pipe    Fault = "pipe"    // a WAV of unknown length, as written to a pipe: the sizes in its header are 2 GB
	Unknown Fault = "unknown" // AMR, as application/octet-stream
)

// All lists all faults.
var All = []Fault{Cut, Once, Slow, Truncated, Length, Forbidden, Missing, Page, Redirect, Busy,
	Late404, Late410, LateXML, LateHTML, LateEmpty, Pipe, Unknown}

// There reports whether a call's recording can be had at an instant, in unix ms.
func (h *Host) There(v *world.View, at int64) bool {
	_, isLate := late[h.Fault(v)]
	wait := time.Minute.Milliseconds() + int64(dice.Pick(dice.Hash(v.Key, 23), int(12*time.Hour.Milliseconds())))
	return !isLate || at >= v.Call.EndAt+wait
}

// Faults are the shares of calls with each fault.
type Faults = dice.Shares[Fault]

// ParseFaults reads "cut=0.05,404=0.01". Their order does not matter.
func ParseFaults(text string) (Faults, error) {
	fs, err := dice.ParseShares(text, "fault of recordings", All)
	slices.SortStableFunc(fs, func(a, b dice.Share[Fault]) int { return slices.Index(All, a.Kind) - slices.Index(All, b.Kind) })
	return fs, err
}

// Host serves recordings over HTTP. Its only state is the set of requested calls.
type Host struct {
	World  *world.World
	Now    func() time.Time // the data's clock
	Faults Faults
	Third  string // the target of Redirect

	requested sync.Map // ids
}

// Serve serves a host on l, which it takes over, until ctx is done.
func Serve(ctx context.Context, l net.Listener, h *Host) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0)} // requested faults are no errors
	context.AfterFunc(ctx, func() { _ = s.Close() })
	go func() { _ = s.Serve(l) }() // http.ErrServerClosed
}

// Fault returns the fault of a call's recording; empty for none.
func (h *Host) Fault(v *world.View) Fault { return h.Faults.Draw(dice.Unit(dice.Hash(v.Key, 21))) }

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
		h.send(w, r, v)
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

func (h *Host) send(w http.ResponseWriter, r *http.Request, v *world.View) {
	s := newSound(v)
	_, again := h.requested.LoadOrStore(v.ID, true)
	w.Header().Set("Content-Type", "audio/mpeg")
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, dice.Hash(v.Key, 22)))
	whole := r.Header.Get("Range") == ""
	if !h.There(v, h.Now().UnixMilli()) {
		is := late[h.Fault(v)]
		w.Header().Set("Content-Type", is.kind)
		w.WriteHeader(is.status)
		_, _ = io.WriteString(w, is.body)
		return
	}
	switch h.Fault(v) {
	case Pipe:
		w.Header().Set("Content-Type", "audio/x-wav")
		_, _ = io.WriteString(w, pipeHeader+strings.Repeat("\x7f", int(8*(v.EndAt-v.StartAt)))) // silence at 8 kHz
		return
	case Unknown:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.WriteString(w, "#!AMR\n"+strings.Repeat("\x3c\x08", int((v.EndAt-v.StartAt)/10)))
		return
	case Cut:
		if whole {
			w.Header().Set("Content-Length", strconv.FormatInt(s.size(), 10))
			s.voices = s.voices[:len(s.voices)/2]
			write(w, s, 0)
			panic(http.ErrAbortHandler)
		}
	case Once:
		if !again {
			refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return
		}
	case Slow:
		write(w, s, 100*time.Millisecond)
		return
	case Truncated:
		s.voices = s.voices[:len(s.voices)/2]
		write(w, s, 0)
		return
	case Length:
		w.Header().Set("Content-Length", strconv.FormatInt(2*s.size(), 10))
		write(w, s, 0)
		return
	case Forbidden:
		refuse(w, http.StatusForbidden, "AccessDenied")
		return
	case Missing:
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	case Page:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>Sign in</title><p>Please sign in.</p>"))
		return
	case Redirect:
		http.Redirect(w, r, h.Third+r.URL.RequestURI(), http.StatusFound)
		return
	case Busy:
		w.Header().Set("Retry-After", "3500")
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	}
	http.ServeContent(w, r, "", time.Time{}, s)
}

// pipeHeader is that of a WAV in µ-law, mono, at 8 kHz.
const pipeHeader = "RIFF\x24\xf0\xff\x7fWAVEfmt \x10\x00\x00\x00\x07\x00\x01\x00\x40" +
	"\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\xf0\xff\x7f"

// write writes a sound frame by frame, until the client disconnects.
func write(w http.ResponseWriter, s *sound, pause time.Duration) {
	buf := make([]byte, frameBytes)
	for {
		n, _ := s.Read(buf)
		if n == 0 {
			return
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return
		}
		if pause > 0 {
			_ = http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
	}
}
