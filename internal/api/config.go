package api

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"callhouse/internal/words"
)

// Secret is a text that is never printed, logged or encoded.
type Secret string

const masked = words.Masked

// Format writes a mask for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// LogValue returns a mask.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText returns a mask.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// Config holds the service's address, the key and the limits.
type Config struct {
	BaseURL   string // the service's address, without /v3 and the rest of the path
	Key       Secret // the organisation's API key
	KeySource string // where Key came from, for messages: "CALLHOUSE_API_KEY"

	PerSecond int     // the service's limit of requests per second
	PerMinute int     // and per minute
	Share     float64 // the fraction of both to use, above 0 and at most 1
	Workers   int     // concurrent requests; 0: chosen from the limits

	// Recall holds the spends of earlier runs, in any order; old spends do no harm. Note is called twice for
	// every spend, with the number of its slot: before it is sent, and when its answer began; concurrently
	// for different slots. The spends that it stores become the next run's Recall.
	Recall []Spend
	Note   func(slot int, s Spend)

	// The service counts as down after DownAfter without one good answer and at least DownFailures
	// failures in a row. 0: 10 minutes, 20.
	DownAfter    time.Duration
	DownFailures int
	// Known means that this address has served an earlier run: without a response, the service counts
	// as down, not as mistyped.
	Known bool
	// Probe is a small request that always succeeds while the service works.
	Probe Request

	// AnyClock continues, with the service's clock, even if it and ours are far apart.
	AnyClock bool
	// Clock is corrected by the service's first answer; nil: a new one, from Now.
	Clock *Clock

	Version   string            // for the User-Agent
	Transport http.RoundTripper // nil: the default one
	Now       func() time.Time  // nil: time.Now
	Logger    *slog.Logger      // nil: none
}

// SetDefaults sets the optional fields that are zero.
func (cfg *Config) SetDefaults() {
	cfg.DownAfter = cmp.Or(cfg.DownAfter, 10*time.Minute)
	cfg.DownFailures = cmp.Or(cfg.DownFailures, 20)
	cfg.Version = cmp.Or(cfg.Version, "dev")
	second, _ := cfg.Limits()
	// Three seconds of latency keep about this many requests in flight. The other workers may be
	// reading bodies and storing results.
	cfg.Workers = cmp.Or(cfg.Workers, min(4*second, 128))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Clock == nil {
		cfg.Clock = NewClock(cfg.Now)
	}
	cfg.Now = cfg.Clock.Now
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
}

// Limits returns the usable part of the limits: at least one request in each.
func (cfg *Config) Limits() (second, minute int) {
	part := func(limit int) int { return max(1, int(math.Floor(float64(limit)*cfg.Share+1e-9))) }
	return part(cfg.PerSecond), part(cfg.PerMinute)
}

// Check returns the error that New would return for the key and the limits, or nil.
func (cfg *Config) Check() error {
	if cfg.Key == "" {
		return errors.New("the API key is empty")
	}
	if strings.ContainsFunc(string(cfg.Key), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the API key contains a space, a line break or another invalid character")
	}
	if min(cfg.PerSecond, cfg.PerMinute) < 1 || max(cfg.PerSecond, cfg.PerMinute) > maxLimit {
		return fmt.Errorf("limits must be from 1 to %d requests", maxLimit)
	}
	if !(cfg.Share > 0 && cfg.Share <= 1) { // refuses NaN, too
		return fmt.Errorf("the share %v must be above 0 and at most 1", cfg.Share)
	}
	return nil
}

const maxLimit = 1_000_000

// CheckBaseURL returns an error if the service's address is invalid. The error does not repeat an
// address that may hold a secret.
func CheckBaseURL(s string) error {
	_, err := parseBase(s)
	return err
}

// MayHoldSecrets reports whether an address has parts that may be secret and that the service's
// address must not have: a user, a password, a query.
func MayHoldSecrets(s string) bool { return strings.ContainsAny(s, "@?#") }

// parseBase parses the service's address. It may have a path. A /v3 at its end is removed, since it
// is easily pasted along.
func parseBase(s string) (string, error) {
	u, err := url.Parse(s)
	scheme, _, _ := strings.Cut(strings.ToLower(s), "://")
	var wrong *url.Error
	switch {
	case MayHoldSecrets(s):
		return "", errors.New("base URL: it must not contain a user, a password, a query (?) or a fragment (#)")
	case scheme != "http" && scheme != "https":
		return "", fmt.Errorf("base URL %q: it must start with https:// or http://", s)
	case errors.As(err, &wrong):
		return "", fmt.Errorf("base URL %q: invalid address: %w", s, wrong.Err)
	case u.Host == "":
		return "", fmt.Errorf("base URL %q: it has no host", s)
	}
	base := strings.TrimRight(u.String(), "/")
	return strings.TrimRight(strings.TrimSuffix(base, "/v3"), "/"), nil
}
