package extractcmd

import (
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

// settings are what the flags, the environment and the file say.
type settings struct {
	config.Config
	now         func() time.Time
	secrets     *words.Secrets // what no message repeats
	stderr      io.Writer      // of commands that mend a warehouse as they open it
	full        bool           // list all calls again
	yes         bool           // do what a safety check refuses
	adopt       bool           // take another service or organisation for the warehouse's own
	allProfiles bool
}

// crawl returns what the crawler is asked to do.
func (s *settings) crawl(now time.Time) (crawler.Config, error) {
	cfg := crawler.Config{
		Config: api.Config{BaseURL: s.BaseURL, PerSecond: s.PerSecond, PerMinute: s.PerMinute, Share: s.Share},
		Window: s.Window, RelistEvery: s.RelistEvery, Full: s.full, MaxDuration: s.MaxDuration,
	}
	if s.BaseURL == "" {
		return cfg, cli.Usage("set CALLHOUSE_BASE_URL or --base-url to the part of the address before /v3", "no service address")
	}
	if err := api.CheckBaseURL(s.BaseURL); err != nil {
		return cfg, cli.Usage("set CALLHOUSE_BASE_URL or --base-url to the part of the address before /v3; the API key is told in another way", "%w", err)
	}
	if s.PerSecond < 1 || s.PerMinute < 1 {
		return cfg, cli.Usage("the service allows 5 a second and 120 a minute", "--requests-per-second and --requests-per-minute must be 1 or more")
	}
	if s.Share <= 0 || s.Share > 1 {
		return cfg, cli.Usage("--share 0.5 leaves half of the budget to others", "--share must be above 0 and not above 1, not %v", s.Share)
	}
	if s.Since != "" {
		t, err := cli.ParseTime(s.Since, time.UTC, now)
		if err != nil {
			return cfg, cli.Usage("write a date as in 2026-11-01, a time as in 2026-11-01T08:00:00Z, or a span back from now as in 30d", "--since: %w", err)
		}
		cfg.Since = t
	}
	if _, err := schema.NewMask(s.maskFields(nil), nil); err != nil {
		return cfg, explainMask(err)
	}
	if from, err := s.keepFrom(now); err != nil {
		return cfg, err
	} else if from.After(cfg.Since) {
		cfg.Since = from // what is kept no longer is not listed either
	}
	key, source, err := s.APIKey()
	s.secrets.Add(key)
	cfg.Key, cfg.KeySource = api.Secret(key), source
	return cfg, err
}

// text returns what a command writes to that tells a person something.
func (s *settings) text(stdout io.Writer) io.Writer { return words.NewWriter(stdout, s.secrets) }

// warnPlain warns where all that the service is asked and answers can be read on
// the way.
func (s *settings) warnPlain(log *slog.Logger) {
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Scheme != "http" {
		return
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return
	}
	log.Warn("the API key and the calls are not encrypted on their way: use https", "host", u.Host)
}
