package extractcmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/layout"
	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/sink"
	"callhouse/internal/wire/mask"
)

// redactAll, in place of kinds, redacts all of them.
const redactAll = "all"

// redaction returns what to redact: the kinds in the settings, or else those redacted by the last
// commit. So a run without the flag does not store values that other runs redact. It returns nil if
// nothing is or ever was redacted.
func (s *settings) redaction(was *layout.Redaction) (*layout.Redaction, error) {
	var names []string
	for k := range strings.SplitSeq(s.Redact, ",") {
		if k = strings.TrimSpace(k); k != "" && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	patterns, err := s.patterns()
	if err != nil {
		return nil, err
	}
	service, err := s.serviceKinds(was)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && len(patterns) == 0 {
		if was.Active() || len(service) > 0 {
			now := layout.Redaction{Kinds: []string{}, Countries: s.countries()}
			if was != nil {
				now = *was
			}
			now.Service = service
			return &now, nil
		}
		return was, nil
	}
	now := &layout.Redaction{Kinds: []string{}, Patterns: patterns, Service: service, Countries: s.countries()}
	known := kinds.Names()
	switch {
	case len(names) == 1 && names[0] == maskNone:
		return &layout.Redaction{Kinds: []string{}, Service: service, Countries: s.countries()}, nil
	case slices.Contains(names, redactAll):
		now.Kinds = known
	default:
		for _, k := range names {
			if !slices.Contains(known, k) {
				return nil, cli.Usage(cli.Suggest(k, known, "available: "+strings.Join(known, ", ")+", all, none"),
					"--redact %s: there is no such kind of personal data", k)
			}
		}
		now.Kinds = names
		slices.Sort(now.Kinds)
	}
	return now, nil
}

// countries returns the countries whose national telephone numbers are recognized.
func (s *settings) countries() []string {
	if s.Country != "" {
		return []string{s.Country}
	}
	return []string{"KR", "US"}
}

// serviceKinds returns the kinds that the service detects; nil if no service is used. A warehouse
// with checked texts accepts no unchecked ones.
func (s *settings) serviceKinds(was *layout.Redaction) ([]string, error) {
	switch {
	case s.RedactService == maskNone:
		return nil, nil
	case s.RedactService != "":
		_, err := s.analyzer()
		return personal.Entities, err
	case was != nil && len(was.Service) > 0:
		return nil, cli.Usage("set redact_service to the service's address; redact_service = none ends it",
			"a service checks the texts of %s, and --redact-service is not set", s.Warehouse)
	}
	return nil, nil
}

func (s *settings) analyzer() (*personal.Analyzer, error) {
	c, err := personal.NewAnalyzer(s.RedactService, s.NoDelay)
	if err != nil {
		return nil, cli.Usage("see docs/reference/redaction.md", "--redact-service: %w", err)
	}
	if u, err := url.Parse(s.RedactService); err != nil || u.Scheme == "http" && !config.OnThisMachine(u.Hostname()) {
		return nil, cli.Usage("use https, or run the service on this machine: http://localhost:3000",
			"--redact-service %s would send the texts unencrypted beyond this machine", s.RedactService)
	}
	return c, nil
}

// patterns reads the file of custom patterns.
func (s *settings) patterns() (out []layout.Pattern, err error) {
	if s.RedactPatterns == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(s.RedactPatterns)
	if err != nil {
		return nil, cli.Usage("check --redact-patterns", "read the patterns to redact: %w", err)
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, re, ok := strings.Cut(line, "=")
		p := layout.Pattern{Kind: strings.TrimSpace(name), Re: strings.TrimSpace(re)}
		if !ok || p.Re == "" {
			return nil, cli.Usage(`write name = regular expression, such as member = \bM-\d{6}\b`,
				"line %d of %s is not a pattern", n, s.RedactPatterns)
		}
		o, err := redactorOptions(&layout.Redaction{Patterns: []layout.Pattern{p}})
		if err == nil {
			_, err = personal.New(o)
		}
		if err != nil {
			return nil, cli.Usage("see the syntax of RE2: https://github.com/google/re2/wiki/Syntax", "line %d of %s: %w", n,
				s.RedactPatterns, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// redactorOptions are the options of an entry of the manifest.
func redactorOptions(r *layout.Redaction) (o personal.Options, err error) {
	for _, k := range r.Kinds {
		o.Kinds = append(o.Kinds, kinds.Kind(k))
	}
	for _, p := range r.Patterns {
		re, err := regexp.Compile(p.Re)
		if err != nil {
			return o, err
		}
		o.Patterns = append(o.Patterns, personal.Pattern{Kind: kinds.Kind(p.Kind), Re: re})
	}
	for _, k := range r.Service {
		o.Others = append(o.Others, kinds.Kind(strings.ToLower(k)))
	}
	o.Countries = r.Countries
	return o, nil
}

// redactor returns the redactor for an entry of the manifest; nil if it redacts nothing.
func redactor(r *layout.Redaction) (*mask.Redactor, error) {
	if !r.Active() {
		return nil, nil
	}
	o, err := redactorOptions(r)
	if err == nil {
		var made *mask.Redactor
		if made, err = mask.NewRedactor(o); err == nil {
			return made, nil
		}
	}
	return nil, cli.Usage("a newer callhouse may know it: upgrade", "read what the warehouse redacts: %w", err)
}

// identified returns an entry of the manifest with the fingerprint of its recognizers.
func identified(r layout.Redaction) *layout.Redaction {
	r.By, r.Periods = "", nil
	text, _ := json.Marshal(r) // strings always encode
	sum := sha256.Sum256(fmt.Appendf(text, "%d", personal.Version))
	r.By = hex.EncodeToString(sum[:8])
	return &r
}

// redactionOf returns the redaction of the last commit; nil if nothing was ever redacted.
func redactionOf(w *sink.Warehouse) *layout.Redaction {
	if snapshot := w.Snapshot(); snapshot != nil {
		return snapshot.Manifest.Redaction
	}
	return nil
}
