package postgres

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// serverVersion is the version that clients see.
const serverVersion = "15.0 (callhouse)"

// reported are the settings whose changes are sent to the client.
var reported = []string{"server_version", "server_encoding", "client_encoding", "application_name", "is_superuser", "session_authorization",
	"DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings", "default_transaction_read_only",
	"in_hot_standby"}

// defaults are the known settings, by name in lower case. Other settings are kept but have no
// effect.
var defaults = map[string]string{
	"server_version": serverVersion, "server_version_num": "150000", "server_encoding": "UTF8", "client_encoding": "UTF8",
	"application_name": "",
	"is_superuser":     "off", "datestyle": "ISO, MDY", "intervalstyle": "postgres", "timezone": "UTC", "integer_datetimes": "on",
	"standard_conforming_strings": "on", "default_transaction_read_only": "on", "in_hot_standby": "off", "transaction_read_only": "on",
	"transaction_isolation": "repeatable read", "default_transaction_isolation": "repeatable read",
	"transaction_deferrable": "off", "search_path": `"$user", public`, "extra_float_digits": "1", "bytea_output": "hex",
	"statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0",
	"max_identifier_length": "63", "max_index_keys": "32",
	"lc_collate": "C", "lc_ctype": "C.UTF-8", "lc_messages": "C", "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C",
	"jit": "off", "role": "none", "client_min_messages": "notice",
	"synchronous_commit": "on", "block_size": "8192", "row_security": "on", "escape_string_warning": "on", "xmloption": "content",
	"backslash_quote":            "safe_encoding",
	"default_text_search_config": "pg_catalog.simple", "max_connections": "100", "ssl": "off", "enable_seqscan": "on",
	"work_mem": "4MB", "array_nulls": "on", "geqo": "on",
	"quote_all_identifiers": "off", "check_function_bodies": "on", "default_tablespace": "", "temp_tablespaces": "",
	"default_transaction_deferrable": "off", "password_encryption": "scram-sha-256",
	"data_directory_mode": "0700", "wal_level": "replica", "default_table_access_method": "heap", "server_version_string": serverVersion,
}

// shownAs are the names of settings with upper-case letters.
var shownAs = map[string]string{"datestyle": "DateStyle", "intervalstyle": "IntervalStyle", "timezone": "TimeZone"}

// fixed are settings that a client cannot change.
var fixed = []string{"server_version", "server_version_num", "server_encoding", "is_superuser", "session_authorization",
	"integer_datetimes", "in_hot_standby",
	"max_identifier_length", "max_index_keys", "block_size", "lc_collate", "lc_ctype", "max_connections", "ssl", "wal_level",
	"data_directory_mode", "server_version_string"}

// Setting implements Settings.
func (c *client) Setting(name string) (string, bool) {
	name = strings.ToLower(name)
	if name == "session_authorization" {
		return c.User, true
	}
	if v, ok := c.settings[name]; ok {
		return v, true
	}
	v, ok := defaults[name]
	return v, ok
}

// settingNames returns the names of all settings.
func (c *client) settingNames() []string {
	names := slices.Collect(maps.Keys(defaults))
	for name := range c.settings {
		if _, ok := defaults[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// set changes a setting, or resets it to its value at the start.
func (c *client) set(ctx context.Context, name string, value *string) error {
	name = strings.ToLower(name)
	if slices.Contains(fixed, name) {
		return fail(codeCannotChange, `parameter "`+name+`" cannot be changed`)
	}
	v := defaults[name]
	if name == "timezone" {
		v = ""
	}
	if start, ok := c.restore[name]; ok {
		v = start
	}
	if value != nil {
		v = *value
	}
	switch name {
	case "timezone":
		zone, err := c.session.Zone(ctx, v)
		if err != nil {
			return err
		}
		c.zone, v = zone, zone.String()
	case "client_encoding":
		v = strings.Trim(v, "'") // asyncpg quotes it
		if !slices.Contains([]string{"utf8", "utf-8", "unicode", "sql_ascii"}, strings.ToLower(v)) {
			return &Error{Code: codeBadParameter, Message: `client_encoding "` + v + `" is not supported`, Hint: "text is sent as UTF8"}
		}
		v = "UTF8"
	case "datestyle":
		if !strings.HasPrefix(strings.ToLower(v), "iso") && v != "" && !slices.Contains([]string{"mdy", "dmy", "ymd"}, strings.ToLower(v)) {
			return &Error{Code: codeUnsupported, Message: `DateStyle "` + v + `" is not supported`, Hint: "dates are sent in ISO format"}
		}
		v = "ISO, MDY"
	case "intervalstyle":
		if strings.ToLower(v) != "postgres" {
			return fail(codeUnsupported, `IntervalStyle "`+v+`" is not supported`)
		}
	case "statement_timeout", "idle_in_transaction_session_timeout":
		if _, err := strconv.Atoi(v); err != nil && millis(v) == 0 {
			return fail(codeBadParameter, `invalid value for parameter "`+name+`": "`+v+`"`)
		}
	case "default_transaction_read_only", "transaction_read_only":
		v = "on"
	}
	c.settings[name] = v
	c.report(name)
	return nil
}

// millis parses a duration in Postgres' form: milliseconds, or a number with a unit.
func millis(v string) time.Duration {
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return time.Duration(n) * time.Millisecond
	}
	d, err := time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(v, "min", "m"), " ", ""))
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// applyStartup applies the settings of the startup message.
func (c *client) applyStartup(ctx context.Context, params map[string]string) error {
	if err := c.set(ctx, "TimeZone", nil); err != nil {
		return err
	}
	given := maps.Clone(params)
	for _, option := range strings.Split(params["options"], "-c ") { // such as -c statement_timeout=5000
		if name, value, ok := strings.Cut(strings.TrimSpace(option), "="); ok {
			given[strings.TrimPrefix(name, "--")] = value
		}
	}
	for name, value := range given {
		switch {
		case name == "user", name == "database", name == "options", name == "replication", strings.HasPrefix(name, "_pq_."):
			continue
		}
		if err := c.set(ctx, name, &value); err != nil {
			return err
		}
	}
	c.restore = maps.Clone(c.settings)
	return nil
}
