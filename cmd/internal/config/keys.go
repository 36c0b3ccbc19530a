package config

import "strings"

// Kind is the type that a setting has in the file.
type Kind uint8

// Kinds of settings.
const (
	Text     Kind = iota
	Path          // a relative one in the file starts at the file's folder
	Integer       //
	Number        // an integer does as well
	Boolean       //
	Duration      // a string as in "90m" or "7d"
	List          // strings; on the command line, parted by commas
)

func (k Kind) String() string {
	switch k {
	case Integer:
		return "an integer"
	case Number:
		return "a number"
	case Boolean:
		return "true or false"
	case Duration:
		return `a duration in quotes, as in "6h" or "7d"`
	case List:
		return `a list of strings, as in ["a", "b"]`
	}
	return "a string"
}

// Program says which commands a setting is for.
type Program uint8

// The programs.
const (
	Extract Program = 1 << iota
	Query
)

// Key is one setting.
type Key struct {
	Name    string // in the file
	Kind    Kind
	For     Program
	Default string // as the flag has it; empty: none
	Sample  string // for one that has no default
	About   string
	// Whose says that it decides whose calls go where. What a profile's own table
	// has of it no environment variable may change.
	Whose bool
	// Masked says that its value is not shown.
	Masked bool
}

// Flag returns the name of the flag.
func (k *Key) Flag() string { return strings.ReplaceAll(k.Name, "_", "-") }

// Env returns the name of the environment variable.
func (k *Key) Env() string { return "CALLHOUSE_" + strings.ToUpper(k.Name) }

// Names of the environment variables that are no key of the file.
const (
	EnvFile    = "CALLHOUSE_CONFIG"
	EnvProfile = "CALLHOUSE_PROFILE"
	EnvKey     = "CALLHOUSE_API_KEY" // the API key itself
)

// Keys are all settings, in the order in which they are told.
var Keys = []Key{
	{Name: "base_url", Kind: Text, For: Extract, Sample: "https://api.example.com", Whose: true,
		About: "address of the service, the part before /v3"},
	{Name: "api_key_file", Kind: Path, For: Extract, Sample: "/etc/callhouse/key", Whose: true,
		About: "file that holds the API key, readable by its owner alone"},
	{Name: "api_key_env", Kind: Text, For: Extract, Sample: "ACME_API_KEY", Whose: true,
		About: "name of the environment variable that holds the API key, where it is not CALLHOUSE_API_KEY"},
	{Name: "warehouse", Kind: Path, For: Extract | Query, Default: "./warehouse", Whose: true,
		About: "folder of the warehouse"},
	{Name: "requests_per_second", Kind: Integer, For: Extract, Default: "5", About: "requests that the service allows in a second"},
	{Name: "requests_per_minute", Kind: Integer, For: Extract, Default: "120", About: "requests that the service allows in a minute"},
	{Name: "share", Kind: Number, For: Extract, Default: "1", About: "part of both limits that a run may use; the rest is left to others"},
	{Name: "since", Kind: Text, For: Extract, Sample: "2026-11-01",
		About: "extract leaves calls alone that started before: a date, a time or a span back from now"},
	{Name: "max_duration", Kind: Duration, For: Extract, Default: "0s", About: "a run stops in good order after so long; 0s for never"},
	{Name: "window", Kind: Duration, For: Extract, Default: "3d", About: "how far back calls may still appear or change"},
	{Name: "relist_every", Kind: Duration, For: Extract, Default: "7d",
		About: "how often all calls are listed again, a part a run; 0s for never"},
	{Name: "mask", Kind: List, For: Extract, Sample: "from_number,to_number",
		About: "fields whose values are replaced by keyed hashes before anything is written"},
	{Name: "mask_key_file", Kind: Path, For: Extract, Sample: "/etc/callhouse/mask.key",
		About: "file with the key of these hashes, readable by its owner alone; where none is named, the warehouse has one of its own"},
	{Name: "keep", Kind: Text, For: Extract, Sample: "400d", About: "calls that started longer ago are erased at the end of a run, and not fetched any more"},
	{Name: "group_readable", Kind: Boolean, For: Extract | Query, Default: "false",
		About: "files 0640 and folders 0750 instead of 0600 and 0700, for analysts in the warehouse's group; also of what query makes"},
	{Name: "metrics_file", Kind: Path, For: Extract, Sample: "/var/lib/node_exporter/callhouse-{profile}.prom",
		About: "file of Prometheus metrics, written every minute of a run and at its end; {profile} stands for the profile's name"},
	{Name: "ping_url", Kind: Text, For: Extract, Sample: "https://hc-ping.com/…", Masked: true,
		About: "address that is asked for when a run is done, and with /fail behind it when it is not; who knows it can do so too"},
	{Name: "log_format", Kind: Text, For: Extract, Default: "text", About: "text or json, for the log on standard error"},
	{Name: "quiet", Kind: Boolean, For: Extract, Default: "false", About: "say nothing but warnings and errors"},
	{Name: "tz", Kind: Text, For: Query, Default: "UTC", About: "time zone of query's days, hours and printed times"},
	{Name: "currency", Kind: Text, For: Query, Sample: "KRW",
		About: "currency of the costs, by its ISO 4217 code: query shows it on the page and in the headings of tables"},
	{Name: "lang", Kind: Text, For: Query, Default: "en", About: "language of query's morning page: en or ko"},
	{Name: "format", Kind: Text, For: Query, Sample: "markdown",
		About: "format of query's answers, where neither --format nor the ending of --output tells it"},
}

// keyOf returns the key that a name in the file means, or nil.
func keyOf(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}
