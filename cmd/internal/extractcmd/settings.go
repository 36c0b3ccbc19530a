package extractcmd

import (
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/phone"
	"callhouse/internal/wire/mask"
	"callhouse/internal/words"
)

// settings are what the flags, the environment and the file say.
type settings struct {
	config.Config
	clock       *api.Clock       // of the service, as soon as it has answered
	now         func() time.Time // by this clock
	secrets     *words.Secrets   // what no message repeats
	stderr      io.Writer        // of commands that mend a warehouse as they open it
	full        bool             // list all calls again
	yes         bool             // do what a safety check refuses
	adopt       bool             // take another service or organisation for the warehouse's own
	allProfiles bool
}

// transcripts are the words of the setting.
var transcripts = map[string]crawler.Transcripts{"auto": crawler.Auto, "v3": crawler.FromV3, "v2": crawler.FromV2}

// since returns when the calls started, at the earliest, that a run at now lists.
func (s *settings) since(now time.Time) (time.Time, error) {
	since, err := cli.TimeOf("since", s.Since, time.UTC, now)
	if err != nil {
		return since, err
	}
	from, err := s.keepFrom(now)
	if from.After(since) {
		since = from // what is kept no longer is not listed either
	}
	return since, err
}

// crawl returns what the crawler is asked to do.
func (s *settings) crawl(now time.Time) (crawler.Config, error) {
	cfg := crawler.Config{
		Config: api.Config{BaseURL: s.BaseURL, PerSecond: s.PerSecond, PerMinute: s.PerMinute, Share: s.Share, Greedy: s.Manners == "greedy"},
		Window: s.Window, RelistEvery: s.RelistEvery, Full: s.full, ListOnly: s.ListOnly, MaxDuration: s.MaxDuration,
	}
	if s.BaseURL == "" {
		return cfg, cli.Usage("set CALLHOUSE_BASE_URL or --base-url to the part of the address before /v3", "no service address")
	}
	if err := api.CheckBaseURL(s.BaseURL); err != nil {
		return cfg, cli.Usage("set CALLHOUSE_BASE_URL or --base-url to the part of the address before /v3; "+
			"the API key is set separately", "%w", err)
	}
	if s.PerSecond < 1 || s.PerMinute < 1 {
		return cfg, cli.Usage("the service allows 5 a second and 120 a minute",
			"--requests-per-second and --requests-per-minute must be 1 or more")
	}
	if s.Share <= 0 || s.Share > 1 {
		return cfg, cli.Usage("--share 0.5 leaves half of the budget to others", "--share must be above 0 and not above 1, not %v", s.Share)
	}
	cfg.Clock = s.clock
	var err error
	if cfg.Since, err = s.since(now); err != nil {
		return cfg, err
	}
	if _, err = mask.New(s.maskFields(nil), nil); err != nil {
		return cfg, explainMask(err)
	}
	if cfg.Resources, err = s.resources(); err != nil {
		return cfg, err
	}
	cfg.Organization, cfg.Bodies = s.OrganizationID, s.AgentBodies
	cfg.Transcripts, cfg.BulkPath = transcripts[s.Transcripts], s.V2Path
	if !strings.HasPrefix(s.V2Path, "/") || strings.ContainsAny(s.V2Path, "?#") {
		return cfg, cli.Usage("the default is "+crawler.BulkPath, "--v2-path must be a path that begins with /, not %q", s.V2Path)
	}
	if err := s.OneService(); err != nil {
		return cfg, err
	}
	key, source, err := s.APIKey()
	s.secrets.Add(key)
	if err != nil {
		return cfg, err
	}
	cfg.Key, cfg.KeySource = api.Secret(key), source
	if err := cfg.Check(); err != nil {
		return cfg, cli.Usage("", "%w", err)
	}
	return cfg, nil
}

// text returns what a command writes to that tells a person something.
func (s *settings) text(stdout io.Writer) io.Writer { return words.NewWriter(stdout, s.secrets) }

// warnPlain warns if requests and answers go over the network unencrypted.
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

// manyProfiles marks the commands that take several profiles.
const manyProfiles = "callhouse_many_profiles"

// runFlags adds the flags of run, which plan and config take as well.
func (s *settings) runFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	s.AddOwnFlags(cmd, config.Extract)
	cmd.Flags().BoolVar(&s.full, "full", false, "list all calls again, whatever was listed before")
}

// yesFlags adds the flags that overrule a safety check.
func (s *settings) yesFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.yes, "yes", false, "do what a safety check refuses: erase much at once (--keep), or go by the "+
		"service's clock where this machine's is more than a day apart")
	cmd.Flags().BoolVar(&s.adopt, "adopt", false,
		"take the calls of this address and key into the warehouse, though they look like another organisation's")
}

// allFlag adds --all to a command that takes several profiles.
func (s *settings) allFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.allProfiles, "all", false, "all profiles of the configuration file, side by side")
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[manyProfiles] = "yes"
}

// prepare is configure for commands that use a warehouse: all but config and
// cobra's own.
func (s *settings) prepare(cmd *cobra.Command, _ []string) error {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Name() == "completion" || strings.HasPrefix(c.Name(), "__complete") {
			return nil
		}
	}
	err := s.configure(cmd)
	for _, note := range s.Env.StrayVariables() { // it may be what the error is about
		progress.Logger(s.stderr, s.LogFormat, s.Quiet).Warn(note)
	}
	if err != nil {
		return err
	}
	return s.Whose()
}

// configure sets what no flag sets, from the environment and the file, before any
// command runs.
func (s *settings) configure(cmd *cobra.Command) error {
	if err := s.Read(s.allProfiles); err != nil {
		return err
	}
	switch {
	case len(s.Named) > 1 && cmd.Annotations[manyProfiles] == "":
		return cli.Usage("extract run, extract status and extract config take several", "%s takes one profile", cmd.CommandPath())
	case len(s.Named) > 0:
		return s.apply(cmd, s.Named[0])
	}
	return s.apply(cmd, "")
}

// apply sets the settings to those of a profile; "" means the top of the file.
func (s *settings) apply(cmd *cobra.Command, profile string) error {
	err := s.Take(cmd.Flags(), config.Extract, profile)
	s.secrets.AddURL(s.PingURL)
	given := s.Country
	if s.Country = strings.ToUpper(given); err == nil && given != "" && !phone.IsCountry(s.Country) {
		err = cli.Usage("write its two letters, as in --country KR", "--country %s is not a country", given)
	}
	return err
}

// of returns a copy with the settings of a profile.
func (s *settings) of(cmd *cobra.Command, profile string) (*settings, error) {
	if err := s.apply(cmd, profile); err != nil {
		return nil, err
	}
	out := *s
	out.clock = api.NewClock(s.clock.Local) // each service has its own
	out.now = out.clock.Now
	return &out, nil
}

// place returns the path of the warehouse's folder, with all links resolved.
func (s *settings) place() string {
	path, err := filepath.Abs(s.Warehouse)
	if err != nil {
		return s.Warehouse
	}
	// What does not exist yet has no links, but its parent may have.
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(path)
		if up == path {
			return filepath.Join(path, rest)
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
}
