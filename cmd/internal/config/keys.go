// Package config holds the settings of extract and query: their names, their values from flags,
// environment variables and callhouse.toml with its profiles, and the source of each value. The
// commands define what a setting means.
package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"callhouse/internal/personal/kinds"
)

// Kind is the type of a setting in the file.
type Kind uint8

// Kinds of settings.
const (
	Text     Kind = iota
	Path          // relative to the file's folder
	Integer       //
	Number        // or an integer
	Boolean       //
	Duration      // a string such as "90m" or "7d"
	List          // strings; comma-separated on the command line
)

func (k Kind) String() string {
	return [...]string{Text: "a string", Path: "a string", Integer: "an integer", Number: "a number", Boolean: "true or false",
		Duration: `a duration in quotes, e.g. "6h" or "7d"`,
		List:     `a list of strings, e.g. ["a", "b"]`}[k]
}

// Program is the program of a setting.
type Program uint8

// The programs.
const (
	Extract Program = 1 << iota
	Query
	Publish // query publish alone
	Alert   // query alert, and query report to mail the page
)

// groups are the parts of the help and of the example, with their settings. All others are advanced.
var groups = []struct{ title, names string }{
	{"Needed", "base_url api_key_file warehouse since max_duration tz"},
	{"Limits", "requests_per_second requests_per_minute share resources list_only"},
	{"Privacy", "mask mask_key_file redact redact_patterns redact_service keep keep_recordings"},
	{"Outputs", "recordings recordings_private metrics_file quiet alerts currency lang format publish_to " +
		"publish_catalog publish_namespace"},
	{"Advanced", ""},
}

// inGroup returns the settings of a group, the last one's included.
func inGroup(names string) (out []*Key) {
	for name := range strings.FieldsSeq(names) {
		out = append(out, keyOf(name))
	}
	for i := range Keys {
		if k := &Keys[i]; names == "" && !slices.ContainsFunc(groups, func(g struct{ title, names string }) bool {
			return slices.Contains(strings.Fields(g.names), k.Name)
		}) {
			out = append(out, k)
		}
	}
	return out
}

// Key declares a setting: its flag, environment variable, key in the file, default, help and line
// in the docs.
type Key struct {
	Name string // in the file
	// Flagged is the name of the flag, if it differs.
	Flagged string
	Kind    Kind
	For     Program
	// Uses names the commands that use it, besides those that use all settings: extract's run and
	// config, query's reports and shell. The help of other commands omits it.
	Uses string
	// Own: only run, plan and config accept its flag, and in query only report. The flags of other
	// settings are accepted by every command, so that one set of arguments can serve several.
	Own     bool
	Letter  string   // of the short flag; may be empty
	Value   string   // name of its value in the help; empty: its type
	Words   []string // allowed values; nil: any
	Default string   // in the form of the flag; empty: none
	Off     string   // the value that turns a path off
	Sample  string   // an example, if there is no default
	About   string
	in      func(*Values) any // returns its place in Values
}

// Flag returns the name of the flag.
func (k *Key) Flag() string { return strings.ReplaceAll(cmp.Or(k.Flagged, k.Name), "_", "-") }

// Env returns the name of the environment variable.
func (k *Key) Env() string { return "CALLHOUSE_" + strings.ToUpper(k.Name) }

// Environment variables without a key in the file.
const (
	EnvFile    = "CALLHOUSE_CONFIG"
	EnvProfile = "CALLHOUSE_PROFILE"
	EnvKey     = "CALLHOUSE_API_KEY" // the API key itself
	EnvSafe    = "CALLHOUSE_SAFE"    // the default of query's --safe

	// Credentials of a REST catalog.
	EnvCatalogToken      = "CALLHOUSE_CATALOG_TOKEN"
	EnvCatalogCredential = "CALLHOUSE_CATALOG_CREDENTIAL"
	EnvCatalogWarehouse  = "CALLHOUSE_CATALOG_WAREHOUSE"
)

// Values are the values in force.
type Values struct {
	BaseURL, APIKeyFile, Warehouse          string
	PerSecond, PerMinute                    int
	Share                                   float64
	Since, Mask, MaskKeyFile, Keep, Country string
	MaxDuration                             time.Duration
	Resources, OrganizationID               string
	Transcripts                             string
	MetricsFile                             string
	Quiet                                   bool
	ListOnly                                bool
	TZ, Currency, Lang, Format, Success     string
	PublishTo, PublishCatalog               string
	FollowEvery                             string
	Recordings, KeepRecordings              string
	RecordingsPrivate                       bool
	Redact, RedactPatterns                  string
	RedactService                           string
	PublishNamespace                        string
	Alerts                                  string
}

// Keys are all settings, in the order of their listing.
var Keys = []Key{
	{Name: "base_url", Kind: Text, For: Extract, Uses: "init plan verify recordings", Value: "URL",
		Sample: "https://api.example.com",
		About:  "address of the service, without /v3", in: func(v *Values) any { return &v.BaseURL }},
	{Name: "api_key_file", Kind: Path, For: Extract, Uses: "init plan verify recordings", Value: "FILE",
		Sample: "/etc/callhouse/key",
		About:  "file with the API key, readable only by its owner", in: func(v *Values) any { return &v.APIKeyFile }},
	{Name: "warehouse", Kind: Path, For: Extract | Query, Value: "DIR", Default: "./warehouse",
		Uses: "plan verify recordings import compact rollback forget status show report sql check catalog init serve " +
			"export publish alert",
		About: "folder of the warehouse", in: func(v *Values) any { return &v.Warehouse }},
	{Name: "requests_per_second", Kind: Integer, For: Extract, Uses: "init plan verify recordings", Value: "N", Default: "5",
		About: "requests per second that the service allows", in: func(v *Values) any { return &v.PerSecond }},
	{Name: "requests_per_minute", Kind: Integer, For: Extract, Uses: "init plan verify recordings", Value: "N", Default: "120",
		About: "requests per minute that the service allows", in: func(v *Values) any { return &v.PerMinute }},
	{Name: "share", Kind: Number, For: Extract, Uses: "init plan verify recordings", Value: "PART", Default: "1",
		About: "share of both limits that a run may use, e.g. 0.5 to leave half to other programs", in: func(v *Values) any { return &v.Share }},
	{Name: "since", Kind: Text, For: Extract, Uses: "plan", Own: true, Value: "TIME", Sample: "2026-11-01",
		About: "skip calls that started before: a date (2026-11-01, its begin in the zone tz), a time (2026-11-01T08:00:00Z) or an age (30d)",
		in:    func(v *Values) any { return &v.Since }},
	{Name: "max_duration", Kind: Duration, For: Extract, Uses: "recordings", Own: true, Default: "0s",
		About: "commit and stop after this time, e.g. 6h (exit code 3); 0s for no limit", in: func(v *Values) any { return &v.MaxDuration }},
	{Name: "resources", Kind: List, For: Extract, Uses: "plan", Value: "NAMES", Default: "all",
		About: "resources to fetch besides calls: all, none, or tables, e.g. agents,campaigns (see query list)",
		in:    func(v *Values) any { return &v.Resources }},
	{Name: "transcripts", Kind: Text, For: Extract, Uses: "plan", Own: true, Words: []string{"auto", "v3", "v2"}, Default: "auto",
		About: "auto: fetch them in bulk (v2) when that saves requests and a sample equals their records (v3); v3: never; v2: always try " +
			"that first, even for few calls or after a mismatch",
		in: func(v *Values) any { return &v.Transcripts }},
	{Name: "list_only", Kind: Boolean, For: Extract, Uses: "plan", Own: true, Default: "false",
		About: "fetch only list pages, 100 calls per request, without transcripts; a later run without this setting fetches those",
		in:    func(v *Values) any { return &v.ListOnly }},
	{Name: "organization_id", Kind: Text, For: Extract, Uses: "plan", Value: "ID",
		Sample: "0b9c7f6e-5a4d-4c3b-8a21-9f8e7d6c5b4a",
		About:  "id of the organisation, required to fetch the table organizations",
		in:     func(v *Values) any { return &v.OrganizationID }},
	{Name: "mask", Kind: List, For: Extract, Uses: "import", Value: "FIELDS", Sample: "from_number,to_number",
		About: "fields whose values are replaced by keyed hashes before they are written", in: func(v *Values) any { return &v.Mask }},
	{Name: "mask_key_file", Kind: Path, For: Extract, Uses: "verify import", Value: "FILE", Sample: "/etc/callhouse/mask.key",
		About: "file with the key of these hashes, readable only by its owner; default: a key stored in the warehouse",
		in:    func(v *Values) any { return &v.MaskKeyFile }},
	{Name: "redact", Kind: List, For: Extract, Uses: "import compact", Value: "KINDS", Sample: "card,rrn,phone,email",
		About: "personal data to redact in texts before they are written: " + strings.Join(kinds.Names(), ", ") + ", or all; none ends it",
		in:    func(v *Values) any { return &v.Redact }},
	{Name: "redact_patterns", Kind: Path, For: Extract, Uses: "import compact", Value: "FILE", Sample: "/etc/callhouse/patterns",
		About: "file with further patterns to redact, one a line: name = regular expression (RE2)",
		in:    func(v *Values) any { return &v.RedactPatterns }},
	{Name: "redact_service", Kind: Text, For: Extract, Uses: "import compact", Value: "URL", Sample: "http://localhost:3000",
		About: "address of a service that finds names and addresses in texts, such as Presidio's analyzer; texts that it does not check " +
			"are not stored; none ends it",
		in: func(v *Values) any { return &v.RedactService }},
	{Name: "keep", Kind: Text, For: Extract, Uses: "plan verify", Value: "SPAN", Sample: "400d",
		About: "retention: a run erases calls older than this and no longer fetches them",
		in:    func(v *Values) any { return &v.Keep }},
	{Name: "recordings", Kind: Path, For: Extract, Uses: "plan recordings", Value: "PLACE", Default: "off", Off: "off",
		About: "archive of the calls' recordings: off, a folder, or s3://bucket/prefix", in: func(v *Values) any { return &v.Recordings }},
	{Name: "recordings_private", Kind: Boolean, For: Extract, Uses: "recordings", Default: "false",
		About: "allow links to recordings on private and loopback addresses, and without TLS",
		in:    func(v *Values) any { return &v.RecordingsPrivate }},
	{Name: "keep_recordings", Kind: Text, For: Extract, Uses: "plan", Own: true, Value: "SPAN", Sample: "90d",
		About: "retention of recordings: a run deletes those of calls older than this, and keeps the calls",
		in:    func(v *Values) any { return &v.KeepRecordings }},
	{Name: "country", Kind: Text, For: Extract, Uses: "import compact forget", Value: "CODE", Sample: "KR",
		About: "two-letter country code: the country of telephone numbers without a country code",
		in:    func(v *Values) any { return &v.Country }},
	{Name: "metrics_file", Kind: Path, For: Extract, Own: true, Value: "FILE", Sample: "/var/lib/node_exporter/callhouse-{profile}.prom",
		About: "file for Prometheus metrics, written every minute of a run and at its end; {profile} is the profile's name",
		in:    func(v *Values) any { return &v.MetricsFile }},
	{Name: "quiet", Kind: Boolean, For: Extract, Uses: "plan verify recordings import compact rollback forget", Letter: "q",
		Default: "false",
		About:   "print only warnings and errors", in: func(v *Values) any { return &v.Quiet }},
	{Name: "follow_every", Kind: Text, For: Extract, Uses: "follow", Value: "SPAN..SPAN", Default: "1m..10m",
		About: "shortest and longest interval between polls of follow: in busy hours and in quiet ones",
		in:    func(v *Values) any { return &v.FollowEvery }},
	{Name: "tz", Kind: Text, For: Extract | Query, Value: "ZONE", Default: "UTC",
		Uses:  "follow plan verify import forget status rollback report sql check catalog init serve mcp export alert",
		About: "time zone of days, hours and printed times, e.g. Asia/Seoul", in: func(v *Values) any { return &v.TZ }},
	{Name: "currency", Kind: Text, For: Query, Uses: "report mcp", Value: "CODE", Sample: "KRW",
		About: "currency of costs, an ISO 4217 code, shown on the page and in table headings",
		in:    func(v *Values) any { return &v.Currency }},
	{Name: "success", Kind: List, For: Query, Uses: "report serve mcp", Value: "PAIRS", Sample: "triage=transferred,triage=completed",
		About: "outcomes that count as success of an agent, e.g. triage=transferred: completed, transferred, abandoned or " +
			"failed. Default for each agent: completed",
		in: func(v *Values) any { return &v.Success }},
	{Name: "lang", Kind: Text, For: Query, Uses: "report", Own: true, Value: "LANG", Default: "en",
		About: "language of the morning page: en or ko", in: func(v *Values) any { return &v.Lang }},
	{Name: "format", Kind: Text, For: Query, Uses: "list describe sql check export test", Value: "FORMAT", Sample: "markdown",
		About: "output format; default: by the extension of --output, else table", in: func(v *Values) any { return &v.Format }},
	{Name: "alerts", Kind: Path, For: Extract | Alert, Uses: "follow status alert report", Value: "FILE",
		Sample: "/etc/callhouse/alerts.toml",
		About:  "file with the rules and channels of alerts, which query alert evaluates after each run and each commit of follow",
		in:     func(v *Values) any { return &v.Alerts }},
	{Name: "publish_to", Flagged: "to", Kind: Text, For: Publish, Own: true, Uses: "publish", Value: "PLACE", Sample: "s3://bucket/calls",
		About: "destination of published Iceberg tables: s3://bucket/prefix or a folder",
		in:    func(v *Values) any { return &v.PublishTo }},
	{Name: "publish_catalog", Flagged: "catalog", Kind: Text, For: Publish, Own: true, Uses: "publish", Value: "URL", Default: "hadoop",
		About: "address of a REST catalog that receives each commit; hadoop: no catalog, the tables' files record the " +
			"latest commit",
		in: func(v *Values) any { return &v.PublishCatalog }},
	{Name: "publish_namespace", Flagged: "namespace", Kind: Text, For: Publish, Own: true, Uses: "publish", Value: "NAME",
		Default: "callhouse",
		About:   "namespace of the tables in that catalog", in: func(v *Values) any { return &v.PublishNamespace }},
}

// keyOf returns the key with a name, or nil.
func keyOf(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}
