package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Settings are those of Postgres 15 with our defaults, as a table in CSV.
//
//go:embed settings.csv
var Settings string

// parameter is a setting, as pg_settings describes it.
type parameter struct {
	name, value, context string
}

// parameters are the known settings by name in lower case.
var parameters = sync.OnceValue(func() map[string]parameter {
	rows, err := csv.NewReader(strings.NewReader(Settings)).ReadAll()
	if err != nil {
		panic(err) // the file is embedded
	}
	out := map[string]parameter{}
	for _, r := range rows[1:] {
		out[strings.ToLower(r[0])] = parameter{r[0], r[1], r[2]}
	}
	return out
})

// reported are the settings whose changes are sent to the client.
var reported = []string{"server_version", "server_encoding", "client_encoding", "application_name", "is_superuser", "session_authorization",
	"DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings", "default_transaction_read_only",
	"in_hot_standby"}

// values are the changed settings of a session by name in lower case. The maps are never modified, so
// a copy of values is a snapshot.
type values struct {
	now     map[string]string
	lasting map[string]string // without those of SET LOCAL, which end with the transaction
}

// savepoint is a point of a transaction to which its settings may return.
type savepoint struct {
	name string
	values
}

// Setting implements SessionSettings.
func (c *client) Setting(name string) (string, bool) {
	name = strings.ToLower(name)
	if v, ok := c.values.now[name]; ok {
		return v, true
	}
	p, ok := parameters()[name]
	return p.value, ok
}

func (c *client) setting(name string) string {
	v, _ := c.Setting(name)
	return v
}

// Set implements SessionSettings.
func (c *client) Set(ctx context.Context, name string, value *string, local bool) (string, error) {
	if err := c.set(ctx, name, value, local); err != nil {
		return "", err
	}
	return c.setting(name), nil
}

// unknownSetting is the error for a name that is no setting.
func unknownSetting(name string) error {
	return fail(codeUnknownSetting, fmt.Sprintf("unrecognized configuration parameter %q", name))
}

// set changes a setting until the end of the session or, if local, of the transaction. Without a value it
// resets the setting to its value at the start.
func (c *client) set(ctx context.Context, name string, value *string, local bool) error {
	p, known := parameters()[strings.ToLower(name)]
	if p.name = cmp.Or(p.name, name); !known && !strings.Contains(name, ".") {
		return unknownSetting(name)
	}
	name = strings.ToLower(name)
	if known && p.context != "user" && p.context != "backend" {
		return fail(codeCannotChange, fmt.Sprintf("parameter %q cannot be changed", p.name))
	}
	v, atStart := c.restore[name]
	if !atStart {
		v = p.value
	}
	if value != nil {
		var err error
		if v, err = c.checked(p, *value); err != nil {
			return err
		}
	}
	if name == "timezone" {
		var err error
		if v, err = c.apply(ctx, v); err != nil {
			return err
		}
	}
	put := func(to map[string]string) map[string]string {
		to = maps.Clone(to)
		to[name] = v
		return to
	}
	if c.values.now = put(c.values.now); !local {
		c.values.lasting = put(c.values.lasting)
	}
	return nil
}

// apply makes a zone that of the session, and returns its name.
func (c *client) apply(ctx context.Context, name string) (string, error) {
	zone, err := c.session.Zone(ctx, name)
	if err == nil {
		name = zone.String()
	} else if fixed := fixedZone(name); fixed != "" {
		zone, err = c.session.Zone(ctx, fixed)
	}
	if err == nil {
		c.zone = zone
	}
	return name, err
}

// adopt returns to earlier values.
func (c *client) adopt(v values) {
	before := c.setting("timezone")
	c.values = v
	if zone := c.setting("timezone"); zone != before {
		_, _ = c.apply(context.Background(), zone) // it was valid before
	}
}

// keep ends the changes of a transaction: they are lasting or, unless it is committed, undone.
func (c *client) keep(committed bool) {
	if committed {
		c.committed = c.values.lasting
	}
	c.savepoints = nil
	c.adopt(values{c.committed, c.committed})
}

// undo undoes the changes since the last savepoint, or the beginning of the transaction.
func (c *client) undo() {
	v := values{c.committed, c.committed}
	if n := len(c.savepoints); n > 0 {
		v = c.savepoints[n-1].values
	}
	c.adopt(v)
}

// tell sends the client the reported settings that changed.
func (c *client) tell() {
	for _, name := range reported {
		v, _ := c.Setting(name)
		if before, ok := c.told[name]; !ok || before != v {
			c.told[name] = v
			c.send(&pgproto3.ParameterStatus{Name: name, Value: v})
		}
	}
}

// checked returns the value of a setting as it is stored, and refuses an invalid one.
func (c *client) checked(p parameter, v string) (string, error) {
	small := strings.ToLower(v)
	invalid := fail(codeBadParameter, fmt.Sprintf("invalid value for parameter %q: %q", p.name, v))
	switch name := strings.ToLower(p.name); name {
	case "timezone": // checked by apply
		if v == "" {
			return "", invalid
		}
	case "client_encoding":
		return encoding(strings.Trim(v, "'")) // asyncpg quotes it
	case "datestyle":
		first, _, _ := strings.Cut(small, ",")
		if !slices.Contains([]string{"", "iso", "mdy", "dmy", "ymd", "us", "default"}, strings.TrimSpace(first)) {
			return "", &Error{Code: codeUnsupported, Message: `DateStyle "` + v + `" is not supported`, Hint: "dates are sent in ISO format"}
		}
		return "ISO, MDY", nil
	case "default_transaction_read_only", "transaction_read_only": // clients declare that they would write
		return "on", nil
	case "transaction_isolation", "default_transaction_isolation":
		return p.value, nil
	case "statement_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout", "lock_timeout":
		if _, ok := duration(v); !ok {
			return "", invalid
		}
	case "intervalstyle", "bytea_output", "standard_conforming_strings":
		if small != p.value {
			return "", fail(codeUnsupported, fmt.Sprintf("%s %q is not supported", p.name, v))
		}
	case "role":
		if small != "none" && v != c.User {
			return "", fail("42501", fmt.Sprintf("permission denied to set role %q", v))
		}
	}
	return v, nil
}

// encoding returns the only encoding that is supported, by one of its names.
func encoding(name string) (string, error) {
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name)) {
	case "utf8", "unicode", "sqlascii":
		return "UTF8", nil
	}
	return "", &Error{Code: codeBadParameter, Message: fmt.Sprintf("the encoding %q is not supported", name),
		Hint: "text is sent as UTF8: set PGCLIENTENCODING=UTF8"}
}

// duration parses a duration in Postgres' form: milliseconds, or a number with a unit.
func duration(v string) (time.Duration, bool) {
	if n, err := strconv.Atoi(v); err == nil {
		return time.Duration(n) * time.Millisecond, n >= 0
	}
	d, err := time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(v, "min", "m"), " ", ""))
	return d, err == nil && d >= 0
}

// atMost returns the limit, or the client's setting if it is lower.
func (c *client) atMost(limit time.Duration, setting string) time.Duration {
	if own, _ := duration(c.setting(setting)); own > 0 && (limit == 0 || own < limit) {
		return own
	}
	return limit
}
