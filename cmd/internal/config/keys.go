// Package config holds the settings of extract and query: their names, their values from flags,
// environment variables and callhouse.toml with its profiles, and the source of each value. The
// commands define what a setting means.
package config

import (
	"cmp"
	"strings"
	"time"
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
	Age           // the same where days are usual: m alone is refused
	List          // strings; comma-separated on the command line
)

func (k Kind) String() string {
	return [...]string{Text: "a string", Path: "a string", Integer: "an integer", Number: "a number", Boolean: "true or false",
		Duration: `a duration in quotes, as in "6h" or "7d"`, Age: `a duration in quotes, as in "36h", "7d" or "30min"`,
		List: `a list of strings, as in ["a", "b"]`}[k]
}

// Program is the program of a setting.
type Program uint8

// The programs.
const (
	Extract Program = 1 << iota
	Query
	Publish // query publish alone
)

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
	Sample  string   // an example, if there is no default
	About   string
	// Whose: it decides which calls go where. If a profile's own table has it, environment
	// variables must not override it.
	Whose bool
	// Masked hides its value in output.
	Masked bool
	in     func(*Values) any // returns its place in Values
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
	EnvSigningName       = "CALLHOUSE_CATALOG_SIGNING_NAME"
	EnvSigningRegion     = "CALLHOUSE_CATALOG_SIGNING_REGION"
)

// Values are the values in force.
type Values struct {
	BaseURL, APIKeyFile, Warehouse          string
	PerSecond, PerMinute                    int
	Share                                   float64
	Since, Mask, MaskKeyFile, Keep, Country string
	MaxDuration, Window, RelistEvery        time.Duration
	Resources, OrganizationID               string
	Transcripts                             string
	MetricsFile, PingURL, LogFormat         string
	GroupReadable, Quiet                    bool
	ListOnly, AgentBodies                   bool
	TZ, Currency, Lang, Format, Success     string
	PublishTo, PublishCatalog               string
	PublishNamespace, PublishOrganization   string
	Publish                                 bool
}

// Keys are all settings, in the order of their listing.
var Keys = []Key{
	{Name: "base_url", Kind: Text, For: Extract, Uses: "plan verify", Value: "URL", Sample: "https://api.example.com", Whose: true,
		About: "address of the service, the part before /v3", in: func(v *Values) any { return &v.BaseURL }},
	{Name: "api_key_file", Kind: Path, For: Extract, Uses: "plan verify", Value: "FILE", Sample: "/etc/callhouse/key", Whose: true,
		About: "file that holds the API key, readable by its owner alone", in: func(v *Values) any { return &v.APIKeyFile }},
	{Name: "warehouse", Kind: Path, For: Extract | Query, Value: "DIR", Default: "./warehouse", Whose: true,
		Uses:  "plan verify import compact migrate rollback forget status show report sql check catalog init serve export publish",
		About: "folder of the warehouse", in: func(v *Values) any { return &v.Warehouse }},
	{Name: "requests_per_second", Kind: Integer, For: Extract, Uses: "plan verify", Value: "N", Default: "5",
		About: "requests that the service allows in a second", in: func(v *Values) any { return &v.PerSecond }},
	{Name: "requests_per_minute", Kind: Integer, For: Extract, Uses: "plan verify", Value: "N", Default: "120",
		About: "requests that the service allows in a minute", in: func(v *Values) any { return &v.PerMinute }},
	{Name: "share", Kind: Number, For: Extract, Uses: "plan verify", Value: "PART", Default: "1",
		About: "share of both limits that a run may use; the rest is left to other programs", in: func(v *Values) any { return &v.Share }},
	{Name: "since", Kind: Text, For: Extract, Uses: "plan", Own: true, Value: "TIME", Sample: "2026-11-01",
		About: "leave out calls that started before this: 2026-11-01, 2026-11-01T08:00:00Z, or 30d for 30 days ago",
		in:    func(v *Values) any { return &v.Since }},
	{Name: "max_duration", Kind: Duration, For: Extract, Uses: "plan", Own: true, Default: "0s",
		About: "commit and stop after this time, as in 6h (exit code 3); 0s for never", in: func(v *Values) any { return &v.MaxDuration }},
	{Name: "window", Kind: Age, For: Extract, Uses: "plan verify", Default: "3d",
		About: "how far back each run lists calls again, because they may still appear or change", in: func(v *Values) any { return &v.Window }},
	{Name: "relist_every", Kind: Age, For: Extract, Uses: "plan", Own: true, Default: "7d",
		About: "how often all calls are listed again, a part in each run; 0s for never", in: func(v *Values) any { return &v.RelistEvery }},
	{Name: "resources", Kind: List, For: Extract, Uses: "plan verify", Value: "NAMES", Default: "all",
		About: "what to fetch besides calls: all, none, or tables as in agents,campaigns (query list has their names)",
		in:    func(v *Values) any { return &v.Resources }},
	{Name: "agent_bodies", Kind: Boolean, For: Extract, Uses: "plan", Own: true, Default: "false",
		About: "also fetch the settings of each agent version: one request for each version, once",
		in:    func(v *Values) any { return &v.AgentBodies }},
	{Name: "transcripts", Kind: Text, For: Extract, Uses: "plan", Own: true, Words: []string{"auto", "v3", "v2"}, Default: "auto",
		About: "auto takes pages of v2 where they save requests and prove to hold what v3 does; v3 never does; v2 also for a " +
			"few calls, and where they were missing or wrong before",
		in: func(v *Values) any { return &v.Transcripts }},
	{Name: "list_only", Kind: Boolean, For: Extract, Uses: "plan", Own: true, Default: "false",
		About: "fetch what the list tells of calls, a hundred in a request, and no transcripts; a later run without it fetches these",
		in:    func(v *Values) any { return &v.ListOnly }},
	{Name: "organization_id", Kind: Text, For: Extract, Uses: "plan verify status", Value: "ID",
		Sample: "0b9c7f6e-5a4d-4c3b-8a21-9f8e7d6c5b4a", Whose: true,
		About: "id of the organisation, needed to fetch the organisation itself (table organizations)",
		in:    func(v *Values) any { return &v.OrganizationID }},
	{Name: "mask", Kind: List, For: Extract, Uses: "verify import", Value: "FIELDS", Sample: "from_number,to_number",
		About: "fields whose values are replaced by keyed hashes before anything is written", in: func(v *Values) any { return &v.Mask }},
	{Name: "mask_key_file", Kind: Path, For: Extract, Uses: "verify import", Value: "FILE", Sample: "/etc/callhouse/mask.key",
		About: "file with the key of these hashes, readable by its owner alone; default: a key in the warehouse",
		in:    func(v *Values) any { return &v.MaskKeyFile }},
	{Name: "keep", Kind: Text, For: Extract, Uses: "plan verify", Value: "SPAN", Sample: "400d",
		About: "erase calls that started longer ago, at the end of a run, and no longer fetch them",
		in:    func(v *Values) any { return &v.Keep }},
	{Name: "country", Kind: Text, For: Extract | Query, Uses: "import migrate forget report", Value: "CODE", Sample: "KR",
		About: "country in which telephone numbers without a country code are read, and on whose public holidays few calls " +
			"are usual, by its two letters", in: func(v *Values) any { return &v.Country }},
	{Name: "group_readable", Kind: Boolean, For: Extract | Query, Default: "false",
		Uses:  "import compact migrate rollback forget list describe report sql check catalog export",
		About: "make files 0640 and folders 0750, for analysts in the warehouse's group, not 0600 and 0700",
		in:    func(v *Values) any { return &v.GroupReadable }},
	{Name: "metrics_file", Kind: Path, For: Extract, Own: true, Value: "FILE", Sample: "/var/lib/node_exporter/callhouse-{profile}.prom",
		About: "file of Prometheus metrics, written every minute of a run and at its end; {profile} is the profile's name",
		in:    func(v *Values) any { return &v.MetricsFile }},
	{Name: "ping_url", Kind: Text, For: Extract, Own: true, Value: "URL", Sample: "https://hc-ping.com/…", Masked: true,
		About: "address to request when a run is done, with /fail appended when it is not; a secret",
		in:    func(v *Values) any { return &v.PingURL }},
	{Name: "log_format", Kind: Text, For: Extract, Uses: "plan verify import compact migrate forget",
		Words: []string{"text", "json"}, Default: "text",
		About: "text or json, for the log on standard error", in: func(v *Values) any { return &v.LogFormat }},
	{Name: "quiet", Kind: Boolean, For: Extract, Uses: "plan verify import compact migrate rollback forget", Letter: "q", Default: "false",
		About: "print only warnings and errors", in: func(v *Values) any { return &v.Quiet }},
	{Name: "tz", Kind: Text, For: Query, Uses: "report sql check catalog init serve export", Value: "ZONE", Default: "UTC",
		About: "time zone of days, hours and printed times, as in Asia/Seoul", in: func(v *Values) any { return &v.TZ }},
	{Name: "currency", Kind: Text, For: Query, Uses: "report", Value: "CODE", Sample: "KRW",
		About: "currency of the costs, by its ISO 4217 code, for the page and the headings of tables",
		in:    func(v *Values) any { return &v.Currency }},
	{Name: "success", Kind: List, For: Query, Uses: "report serve", Value: "PAIRS", Sample: "triage=transferred,triage=completed",
		About: "which outcomes count as a success of an agent, as in triage=transferred; of completed, transferred, abandoned " +
			"and failed. For all other agents: completed",
		in: func(v *Values) any { return &v.Success }},
	{Name: "lang", Kind: Text, For: Query, Uses: "report", Own: true, Value: "LANG", Default: "en",
		About: "language of the morning page: en or ko", in: func(v *Values) any { return &v.Lang }},
	{Name: "format", Kind: Text, For: Query, Uses: "list describe sql check export", Value: "FORMAT", Sample: "markdown",
		About: "format of answers; by default as --output ends, else table", in: func(v *Values) any { return &v.Format }},
	{Name: "publish", Kind: Boolean, For: Extract, Uses: "forget", Default: "false",
		About: "publish the warehouse after each run and after forget, like query publish iceberg, with the keys below",
		in:    func(v *Values) any { return &v.Publish }},
	{Name: "publish_to", Flagged: "to", Kind: Text, For: Publish, Own: true, Uses: "publish", Value: "PLACE", Sample: "s3://bucket/calls",
		About: "where to publish Iceberg tables: s3://bucket/prefix, or a folder",
		in:    func(v *Values) any { return &v.PublishTo }},
	{Name: "publish_catalog", Flagged: "catalog", Kind: Text, For: Publish, Own: true, Uses: "publish", Value: "URL", Default: "hadoop",
		About: "address of a REST catalog that receives every commit; hadoop: no catalog, the tables' own files name the " +
			"last commit",
		in: func(v *Values) any { return &v.PublishCatalog }},
	{Name: "publish_namespace", Flagged: "namespace", Kind: Text, For: Publish, Own: true, Uses: "publish", Value: "NAME",
		Default: "callhouse",
		About:   "namespace of the tables in that catalog", in: func(v *Values) any { return &v.PublishNamespace }},
	{Name: "publish_organization", Flagged: "organization", Kind: Text, For: Publish, Own: true, Uses: "publish", Value: "NAME",
		Sample: "acme",
		About:  "name of the organisation, if several warehouses publish to the same tables; adds a column organization",
		in:     func(v *Values) any { return &v.PublishOrganization }},
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

// gone are settings of earlier builds and their replacements. An upgrade must not cost a night:
// those that a run can ignore cause only a warning.
var gone = map[string]struct {
	hint    string
	ignored bool
}{
	"manners": {"remove it: a run makes room for others who spend the same limits, and share sets how much it may use", true},
	"v2_path": {"remove it: v2 lists calls at /v2/calls/list, below base_url", true},
	"api_key_env": {"name a file of mode 0600 that holds the key, as in api_key_file = \"/etc/callhouse/key\", " +
		"or put the key into " + EnvKey, false},
}
