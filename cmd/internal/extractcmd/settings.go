package extractcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/phone"
	"callhouse/internal/wire/mask"
	"callhouse/internal/words"
)

// minKeep is the shortest retention of calls. With less, calls would be erased before they are
// settled.
const minKeep = 7 * 24 * time.Hour

// settings are the settings from flags, environment and file, in the form that the crawler and the sink
// take, and what else all commands share.
type settings struct {
	config.Config
	Clock   *api.Clock       // of the service, once it has responded
	Now     func() time.Time // reads Clock
	Secrets *words.Secrets   // hidden in all messages
	Stderr  io.Writer        // of commands that repair a warehouse while opening it
	Full    bool             // list all calls again
	CallIDs []string         // calls whose records are fetched again
	Yes     bool             // override a safety check
	Adopt   bool             // accept another service or organisation as the warehouse's own
	NoDelay bool             // the service that detects personal data must not cause delays
}

// transcripts maps the words of the setting.
var transcripts = map[string]crawler.Source{"auto": crawler.Auto, "v3": crawler.FromV3, "v2": crawler.FromV2}

// timeOf parses the instant of a flag, of which a date is a day in the zone tz; zero if text is empty.
func (s *settings) timeOf(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	loc, err := cli.Zone(s.TZ)
	if err != nil {
		return time.Time{}, err
	}
	t, err := cli.TimeOf(flag, text, loc, now)
	return t.In(loc), err
}

// zone returns the zone of printed times.
func (s *settings) zone() *time.Location {
	loc, err := cli.Zone(s.TZ)
	if err != nil { // status is not refused for a zone that query would refuse
		return time.UTC
	}
	return loc
}

// listFrom returns the earliest start of the calls listed by a run at now.
func (s *settings) listFrom(now time.Time) (time.Time, error) {
	since, err := s.timeOf("since", s.Since, now)
	if err != nil {
		return since, err
	}
	if since.After(now) {
		return since, cli.Usage("give the start of the earliest call to list", "--since %s is in the future", s.Since)
	}
	from, err := s.keepFrom("keep", s.Keep, now)
	if from.After(since) {
		since = from // expired calls are not listed
	}
	return since, err
}

// keepFrom returns the earliest start of the calls, or recordings, to keep, the begin of a day in the zone
// tz, so that whole days are erased; zero if all are kept.
func (s *settings) keepFrom(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	span, err := cli.ParseAge(text)
	if err != nil {
		return time.Time{}, cli.Usage("use a duration such as 400d, 60w or 9600h", "--%s: %w", flag, err)
	}
	if span < minKeep {
		return time.Time{}, cli.Usage("calls can change for some days after their end", "--%s must be 7d or more, not %s", flag, text)
	}
	loc, err := cli.Zone(s.TZ)
	if err != nil {
		return time.Time{}, err
	}
	return cli.DayBegin(now.Add(-span).In(loc)), nil
}

// checkBudget checks the settings that need neither service nor key.
func (s *settings) checkBudget() error {
	switch {
	case s.PerSecond < 1 || s.PerMinute < 1:
		return cli.Usage("the service allows 5 per second and 120 per minute",
			"--requests-per-second and --requests-per-minute must be 1 or more")
	case !(s.Share > 0 && s.Share <= 1): // NaN
		return cli.Usage("--share 0.5 leaves half of the budget to other programs", "--share must be above 0 and at most 1, not %v", s.Share)
	}
	return nil
}

// window is how far back each run lists calls again, to find late and changed ones; relistEvery is
// how often all calls are listed again, spread over runs.
const (
	window      = 3 * 24 * time.Hour
	relistEvery = 7 * 24 * time.Hour
)

// crawlConfig returns the crawler's configuration.
func (s *settings) crawlConfig(now time.Time) (crawler.Config, error) {
	cfg := crawler.Config{
		Config: api.Config{BaseURL: s.BaseURL, PerSecond: s.PerSecond, PerMinute: s.PerMinute, Share: s.Share},
		Window: window, RelistEvery: relistEvery, Full: s.Full, ListOnly: s.ListOnly, MaxDuration: s.MaxDuration, CallIDs: s.CallIDs,
	}
	if s.BaseURL == "" {
		why, help := s.Unset()
		help += "; or set CALLHOUSE_BASE_URL or --base-url to the part of the address before /v3"
		return cfg, cli.Usage(strings.TrimPrefix(help, "; or "), "no service address%s", why)
	}
	if err := api.CheckBaseURL(s.BaseURL); err != nil {
		hint := "set CALLHOUSE_BASE_URL or --base-url to the part of the address before /v3; the API key is set separately"
		if meant, merr := validAddress(s.BaseURL); merr == nil && !api.MayHoldSecrets(s.BaseURL) {
			hint = "use --base-url " + meant + ", or set CALLHOUSE_BASE_URL to it"
		}
		return cfg, cli.Usage(hint, "%w", err)
	}
	if err := s.checkBudget(); err != nil {
		return cfg, err
	}
	switch {
	case slices.Contains(s.CallIDs, ""):
		return cfg, cli.Usage("", "--call-id must not be empty")
	case len(s.CallIDs) > 0 && s.ListOnly:
		return cfg, cli.Usage("leave out one of them", "--call-id fetches records, --list-only fetches none")
	}
	if _, err := cli.Zone(s.TZ); err != nil { // a run without dates does not need it: no reason to lose a night
		words.Fprintf(s.Stderr, "warning: %v, which query will refuse; %s\n", err, cli.Hint(err))
	}
	cfg.Clock = s.Clock
	var err error
	if cfg.Since, err = s.listFrom(now); err != nil {
		return cfg, err
	}
	if _, err = mask.New(s.maskFields(nil), nil); err != nil {
		return cfg, explainMask(err)
	}
	if _, err = s.redaction(&layout.Redaction{Kinds: []string{"known later"}}); err != nil {
		return cfg, err
	}
	if cfg.Resources, err = s.wanted(); err != nil {
		return cfg, err
	}
	cfg.Organization = s.OrganizationID
	cfg.Transcripts = transcripts[s.Transcripts]
	if err := s.OneService(); err != nil {
		return cfg, err
	}
	key, source, err := s.APIKey()
	s.Secrets.Add(key)
	if err != nil {
		return cfg, err
	}
	cfg.Key, cfg.KeySource = api.Secret(key), source
	if err := cfg.Check(); err != nil {
		return cfg, cli.Usage("", "%w", err)
	}
	return cfg, nil
}

// text returns a writer for text output. It hides secrets.
func (s *settings) text(stdout io.Writer) io.Writer { return words.NewWriter(stdout, s.Secrets) }

// print writes what write makes to stdout, with secrets hidden, and returns an error if that fails:
// for commands whose whole result is their text.
func (s *settings) print(stdout io.Writer, write func(io.Writer)) error {
	var text bytes.Buffer
	write(&text)
	if _, err := s.text(stdout).Write(text.Bytes()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// warnPlain warns if requests and responses are sent unencrypted.
func (s *settings) warnPlain(log *slog.Logger) {
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Scheme != "http" {
		return
	}
	if config.OnThisMachine(u.Hostname()) {
		return
	}
	log.Warn("the API key and the calls are sent unencrypted: use https", "host", u.Host)
}

// runFlags adds the flags of run, which plan and config also accept.
func (s *settings) runFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	s.AddOwnFlags(cmd, config.Extract)
	cmd.Flags().BoolVar(&s.Full, "full", false, "list all calls again, regardless of earlier runs")
}

// yesFlags adds the flags that override a safety check.
func (s *settings) yesFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.Yes, "yes", false, "override a safety check: erase many calls at once (--keep), or use the "+
		"service's clock if this machine's differs by more than a day")
	cmd.Flags().BoolVar(&s.Adopt, "adopt", false, "accept the calls of this address although they look like another organisation's, "+
		"or another archive of recordings")
}

// prepareCommand is configure for commands that use a warehouse: all but config and
// cobra's own.
func (s *settings) prepareCommand(cmd *cobra.Command, _ []string) error {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Name() == "completion" || strings.HasPrefix(c.Name(), "__complete") {
			return nil
		}
	}
	err := s.configure(cmd)
	for _, note := range s.Env.UnknownVariables() { // one of them may be the cause of the error
		newLogger(s.Stderr, s.Quiet).Warn(note)
	}
	if err == nil {
		err = s.Whose()
	}
	if err == nil {
		err = s.BecomeOwner(s.Stderr)
	}
	return err
}

// configure sets the settings without a flag from the environment and the file. It runs before any
// command.
func (s *settings) configure(cmd *cobra.Command) error {
	if err := s.Read(cmd.Flags(), config.Extract); err != nil {
		return err
	}
	given := s.Country
	if s.Country = strings.ToUpper(given); given != "" && !phone.IsCountry(s.Country) {
		return cli.Usage("use a two-letter code, e.g. --country KR", "--country %s is not a country", given)
	}
	return nil
}

// anew returns a copy of the settings with a clock not yet corrected by the service's responses.
func (s *settings) anew() *settings {
	out := *s
	out.Clock = api.NewClock(s.Clock.Local)
	out.Now = out.Clock.Now
	return &out
}

// resolved resolves the links of an absolute path, whose last folders may be missing.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if up := filepath.Dir(path); err != nil && up != path {
		return filepath.Join(resolved(up), filepath.Base(path))
	}
	return real
}

// metricsPath returns the file of this profile's metrics; empty if there is none.
func (s *settings) metricsPath() string {
	return strings.ReplaceAll(s.MetricsFile, "{profile}", s.Profile)
}

// writeJSON writes the result of a command.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
