package extractcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
)

// Names of the environment variables that settings come from.
const (
	envWarehouse = "CALLHOUSE_WAREHOUSE"
	envBaseURL   = "CALLHOUSE_BASE_URL"
	envKey       = "CALLHOUSE_API_KEY"
)

// settings are what the flags and the environment say.
type settings struct {
	now         func() time.Time
	warehouse   string
	baseURL     string
	keyFile     string
	perSecond   int
	perMinute   int
	share       float64
	since       string
	window      time.Duration
	relistEvery time.Duration
	full        bool
	maxDuration time.Duration
	logFormat   string
	quiet       bool
}

// key returns the API key and where it came from. It never comes from an
// argument, which every user of the machine could read.
func (s *settings) key() (crawler.Secret, string, error) {
	const hint = "put the organisation's key into " + envKey + ", or name a file that holds it with --api-key-file"
	if s.keyFile == "" {
		key := strings.TrimSpace(os.Getenv(envKey))
		if key == "" {
			return "", "", cli.Usage(hint, "no API key: %s is not set", envKey)
		}
		return crawler.Secret(key), envKey, nil
	}
	source := "file " + s.keyFile
	st, err := os.Stat(s.keyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", cli.Usage(hint, "no API key: there is no file %s", s.keyFile)
	case err != nil:
		return "", "", cli.Usage(hint, "no API key: %w", err)
	case st.IsDir():
		return "", "", cli.Usage(hint, "no API key: %s is a folder", s.keyFile)
	case st.Mode().Perm()&0o077 != 0:
		return "", "", cli.Usage("chmod 600 "+s.keyFile, "the API key file %s can be read by others (mode %04o)", s.keyFile, st.Mode().Perm())
	}
	raw, err := os.ReadFile(s.keyFile)
	if err != nil {
		return "", "", cli.Usage(hint, "no API key: %w", err)
	}
	key := strings.TrimSpace(string(raw))
	if key == "" {
		return "", "", cli.Usage(hint, "no API key: the file %s is empty", s.keyFile)
	}
	return crawler.Secret(key), source, nil
}

// crawl returns what the crawler is asked to do.
func (s *settings) crawl(now time.Time) (crawler.Config, error) {
	cfg := crawler.Config{
		BaseURL: s.baseURL, PerSecond: s.perSecond, PerMinute: s.perMinute, Share: s.share,
		Window: s.window, RelistEvery: s.relistEvery, Full: s.full, MaxDuration: s.maxDuration,
	}
	if s.baseURL == "" {
		return cfg, cli.Usage("set "+envBaseURL+" or --base-url to the part of the address before /v3", "no service address")
	}
	if s.perSecond < 1 || s.perMinute < 1 {
		return cfg, cli.Usage("the service allows 5 a second and 120 a minute", "--requests-per-second and --requests-per-minute must be 1 or more")
	}
	if s.share <= 0 || s.share > 1 {
		return cfg, cli.Usage("--share 0.5 leaves half of the budget to others", "--share must be above 0 and not above 1, not %v", s.share)
	}
	if s.maxDuration < 0 || s.window < 0 || s.relistEvery < 0 {
		return cfg, cli.Usage("write durations as in 90m or 6h", "--max-duration, --window and --relist-every must not be negative")
	}
	if s.relistEvery == 0 {
		cfg.RelistEvery = -1
	}
	if s.logFormat != "text" && s.logFormat != "json" {
		return cfg, cli.Usage("--log-format takes text or json", "unknown log format %q", s.logFormat)
	}
	if s.since != "" {
		t, err := cli.ParseTime(s.since, time.UTC, now)
		if err != nil {
			return cfg, cli.Usage("write a date as in 2026-11-01, a time as in 2026-11-01T08:00:00Z, or a span back from now as in 30d", "--since: %w", err)
		}
		cfg.Since = t
	}
	var err error
	if cfg.Key, cfg.KeySource, err = s.key(); err != nil {
		return cfg, err
	}
	return cfg, nil
}

// envOr returns the environment variable, or def where it is not set.
func envOr(name, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}

// usageOf makes an error of flag parsing one of wrong use.
func usageOf(program string, err error) error {
	return cli.Usage(fmt.Sprintf("%s --help lists the flags", program), "%w", err)
}
