// Package recording archives the audio of calls: it downloads a recording from a call's signed
// link, checks that it was received whole and is no error page, and stores it under a readable name, in a folder or a
// bucket.
//
// The audio is on another host than the service. This package does not have the service's key, so
// it cannot send it, and has its own limits. It decides nothing about calls: the caller decides
// which recordings to keep, and how to handle failed ones.
package recording

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"callhouse/internal/publish/store"
)

// Call is a call whose recording is to be archived.
type Call struct {
	ID    string
	Start time.Time     // UTC; zero: unknown
	Lasts time.Duration // zero: unknown
	Link  string
}

// Limit returns how long a download of the recording may take: as long as the call, and at least
// two minutes.
func (c *Call) Limit() time.Duration { return max(c.Lasts, 2*time.Minute) }

// Stored is a recording in the archive.
type Stored struct {
	Path   string // below the archive's address, with slashes
	Bytes  int64
	SHA256 string // in hex
	Format Format
	Remark string // what is doubtful about the file; empty: nothing
}

// Config has the settings of an archive.
type Config struct {
	To      string // a folder, or s3://bucket/prefix
	Scratch string // folder used by this process alone for incomplete downloads; created if missing
	// Private allows links to private and loopback addresses, and links without TLS.
	Private bool
	// BytesPerSecond bounds all downloads together; 0 means no limit.
	BytesPerSecond int64
	// MaxBytes is the maximum size of a recording; 0 means 2 GiB.
	MaxBytes int64
	// Attempts is the number of requests for a recording that fails halfway or temporarily, and
	// Pause the wait before the second, which doubles with each; 0 means 4 and a second.
	Attempts  int
	Pause     time.Duration
	Stall     time.Duration // how long a host may send nothing; 0 means 30 s
	UserAgent string
	Transport http.RoundTripper // nil: the default one
}

// Archive stores recordings. It is safe for concurrent use; the caller limits the number of
// concurrent downloads.
type Archive struct {
	cfg    Config
	store  store.Store
	uri    string
	client *http.Client
	bytes  *rate.Limiter
}

// piece is the maximum number of bytes read at once.
const piece = 64 << 10

// Open opens an archive. It sends no request and creates no folder.
func Open(cfg Config) (*Archive, error) {
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 2<<30)
	cfg.Attempts = cmp.Or(cfg.Attempts, 4)
	cfg.Pause = cmp.Or(cfg.Pause, time.Second)
	cfg.Stall = cmp.Or(cfg.Stall, 30*time.Second)
	s, uri, err := store.Open(cfg.To)
	if err != nil {
		return nil, err
	}
	a := &Archive{cfg: cfg, store: s, uri: uri, client: newClient(cfg.Private)}
	if cfg.Transport != nil {
		a.client.Transport = cfg.Transport
	}
	if cfg.BytesPerSecond > 0 {
		a.bytes = rate.NewLimiter(rate.Limit(cfg.BytesPerSecond), piece)
	}
	return a, nil
}

// Close closes idle connections, and removes the folder of incomplete downloads if it is empty.
func (a *Archive) Close() {
	a.client.CloseIdleConnections()
	_ = os.Remove(a.cfg.Scratch)
}

// Address returns the archive's address, normalised: file:///… or s3://….
func (a *Archive) Address() string { return a.uri }

// Fetch downloads and stores the recording of a call. It replaces a file that a killed process left,
// or that was damaged. Every failure except the end of ctx is an *Error.
func (a *Archive) Fetch(ctx context.Context, c Call) (Stored, error) {
	link, err := a.check(c.Link)
	if err != nil {
		return Stored{}, err
	}
	p, err := a.newPart(c)
	if err != nil {
		return Stored{}, here(err)
	}
	defer p.remove()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit(), &Error{Problem: Failed,
		Reason: fmt.Sprintf("%s takes more than %v, which is too slow", link.Hostname(), c.Limit())})
	defer cancel()
	if err := a.download(ctx, link, p); err != nil {
		return Stored{}, err
	}
	out, err := p.stored()
	if err != nil {
		return Stored{}, err
	}
	out.Path = Path(c, out.Format)
	return out, a.place(ctx, out, p)
}

// stored describes a complete download. The error is an *Error.
func (p *part) stored() (out Stored, err error) {
	head := make([]byte, min(p.size, headSize))
	if _, err := p.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return out, here(err)
	}
	format, other := formatOf(head, p.kind)
	if other != "" {
		return out, &Error{Problem: NotAudio, Reason: "the host sent " + other + ", not audio"}
	}
	out = Stored{Bytes: p.size, SHA256: hex.EncodeToString(p.sum.Sum(nil)), Format: format}
	var remarks []string
	if p.open {
		remarks = append(remarks, "the host did not send the length: the end may be missing")
	}
	if format == Unknown {
		remarks = append(remarks, strings.TrimSpace("unknown format, sent as "+cmp.Or(p.kind, "no media type")+" "+p.coding))
	}
	out.Remark = strings.Join(remarks, "; ")
	return out, nil
}

// Path returns the path of a recording below an archive's address.
func Path(c Call, f Format) string {
	day := "undated"
	if !c.Start.IsZero() {
		day = c.Start.UTC().Format("2006/01/02")
	}
	return day + "/" + fileName(c.ID) + "." + string(f)
}

// fileName returns the name of a call's files, without the extension. Ids come from the service and
// may contain any character.
func fileName(id string) string {
	name := url.PathEscape(id)
	if strings.Trim(name, ".") == "" || len(name) > 120 || strings.HasPrefix(name, ".") {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])
	}
	return name
}

// place publishes a complete download.
func (a *Archive) place(ctx context.Context, s Stored, p *part) error {
	if err := p.file.Sync(); err != nil {
		return here(err)
	}
	return here(a.store.Adopt(ctx, a.uri+"/"+s.Path, p.file, p.size))
}

// Sum returns the checksum (SHA-256 in hex) and size of a stored file. The error wraps
// fs.ErrNotExist if there is none.
func (a *Archive) Sum(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := a.store.Open(ctx, a.uri+"/"+path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// Sweep removes the files that killed processes left in a folder of incomplete downloads.
func Sweep(scratch string) error {
	names, err := filepath.Glob(filepath.Join(scratch, "*.part"))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// Problem is why a recording is not stored.
type Problem int

// Problems.
const (
	// Failed recordings may be available later.
	Failed Problem = iota
	// Expired means that the link is no longer valid; a new one may be.
	Expired
	// Gone means that the host has no such recording.
	Gone
	// NotAudio means that the answer is no recording. A later one may be.
	NotAudio
	// Refused recordings are not stored from this link, whatever the host answers later.
	Refused
	// Barred recordings have a link that only Config.Private allows.
	Barred
	// Here means that the archive or this machine failed.
	Here
)

// Error is the reason why a recording is not stored. It reveals no part of a link but the host.
type Error struct {
	Problem Problem
	Reason  string
	After   time.Duration // how long the host asks clients to wait; zero: unspecified
	Err     error         // may be nil
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// here marks an error as caused by the archive or this machine, not by the host.
func here(err error) error {
	if e := (*Error)(nil); err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Problem: Here, Reason: fmt.Sprintf("store a recording: %v", err), Err: err}
}
