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

// Secret is a text that no printing, logging or encoding shows.
type Secret string

const masked = words.Masked

// String returns a mask.
func (Secret) String() string { return masked }

// GoString returns a mask.
func (Secret) GoString() string { return masked }

// Format writes a mask, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// LogValue returns a mask.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText returns a mask.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// Config says which service to ask, with which key and within which limits.
type Config struct {
	BaseURL   string // the service's address, the part before /v3
	Key       Secret // the organisation's API key
	KeySource string // where Key came from, for messages: "CALLHOUSE_API_KEY"

	PerSecond int     // requests a second that the service allows
	PerMinute int     // and a minute
	Share     float64 // the part of both that may be used, above 0 and at most 1
	Workers   int     // requests in flight; 0: what the limits can use

	// Recall is what runs before this one spent, in any order; old spends do no
	// harm. Note is called twice for every spend, with the number of its slot: before
	// it is sent, and when its answer began; concurrently for different slots. What
	// it keeps is to be the next run's Recall.
	Recall []Spend
	Note   func(slot int, s Spend)

	// The service is taken for down after DownAfter without one good answer, and
	// at least DownFailures bad ones in a row. 0: 10 minutes, 20.
	DownAfter    time.Duration
	DownFailures int
	// Probe is a small request that the service always answers while it works.
	Probe Request

	// AnyClock goes on, by the service's clock, where that and ours are far apart.
	AnyClock bool
	// Clock is set right by the service's first answer; nil: one of its own, of Now.
	Clock *Clock

	Version   string            // for the User-Agent
	Transport http.RoundTripper // nil: ours
	Now       func() time.Time  // nil: time.Now
	Logger    *slog.Logger      // nil: none
}

// SetDefaults fills in what may be left out.
func (cfg *Config) SetDefaults() {
	cfg.DownAfter = cmp.Or(cfg.DownAfter, 10*time.Minute)
	cfg.DownFailures = cmp.Or(cfg.DownFailures, 20)
	cfg.Version = cmp.Or(cfg.Version, "dev")
	second, _ := cfg.Limits()
	// A request in flight holds a slot of the second, so there are never more than
	// perSecond; as many again read bodies and store results.
	cfg.Workers = cmp.Or(cfg.Workers, min(2*second, 128))
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

// Limits returns our part of the limits: at least one request in each.
func (cfg *Config) Limits() (second, minute int) {
	part := func(limit int) int { return max(1, int(math.Floor(float64(limit)*cfg.Share+1e-9))) }
	return part(cfg.PerSecond), part(cfg.PerMinute)
}

// Check returns what New would refuse of the key and the limits, or nil.
func (cfg *Config) Check() error {
	if cfg.Key == "" {
		return errors.New("the API key is empty")
	}
	if strings.ContainsFunc(string(cfg.Key), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the API key holds a space, a line break or a character that no key has")
	}
	if min(cfg.PerSecond, cfg.PerMinute) < 1 || max(cfg.PerSecond, cfg.PerMinute) > maxLimit {
		return fmt.Errorf("limits must be from 1 to %d requests", maxLimit)
	}
	if !(cfg.Share > 0 && cfg.Share <= 1) { // NaN is neither
		return fmt.Errorf("the share %v is not above 0 and at most 1", cfg.Share)
	}
	return nil
}

const maxLimit = 1_000_000

// CheckBaseURL returns what is wrong with the service's address, or nil. The error
// does not repeat an address that may hold a secret.
func CheckBaseURL(s string) error {
	_, err := parseBase(s)
	return err
}

// MayHoldSecrets says whether an address has parts that the service's must not
// have, and that may be secrets: a user, a password, a query.
func MayHoldSecrets(s string) bool { return strings.ContainsAny(s, "@?#") }

// parseBase reads the service's address. It may have a path, and a /v3 at its end
// is left off, because it is easily pasted along.
func parseBase(s string) (string, error) {
	u, err := url.Parse(s)
	scheme, _, _ := strings.Cut(strings.ToLower(s), "://")
	var wrong *url.Error
	switch {
	case MayHoldSecrets(s):
		return "", errors.New("base URL: it must not hold a user, a password, a query (?) or a fragment (#)")
	case scheme != "http" && scheme != "https":
		return "", fmt.Errorf("base URL %q: it must start with https:// or http://", s)
	case errors.As(err, &wrong):
		return "", fmt.Errorf("base URL %q: it is not an address: %w", s, wrong.Err)
	case u.Host == "":
		return "", fmt.Errorf("base URL %q: it names no host", s)
	}
	base := strings.TrimRight(u.String(), "/")
	return strings.TrimRight(strings.TrimSuffix(base, "/v3"), "/"), nil
}
