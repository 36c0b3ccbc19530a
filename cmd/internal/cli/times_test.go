package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"callhouse/internal/test"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	test.OK(t, err)
	return loc
}

func TestParseTime(t *testing.T) {
	seoul, err := time.LoadLocation("Asia/Seoul")
	test.OK(t, err)
	berlin, err := time.LoadLocation("Europe/Berlin")
	test.OK(t, err)
	now := time.Date(2026, 11, 21, 20, 30, 0, 0, time.UTC) // 05:30 on the 22nd in Seoul
	for _, c := range []struct {
		in   string
		loc  *time.Location
		want string // RFC 3339; empty: an error
	}{
		{"2026-11-01", time.UTC, "2026-11-01T00:00:00Z"},
		{"2026-11-01", seoul, "2026-11-01T00:00:00+09:00"},
		{" 2026-11-01 ", seoul, "2026-11-01T00:00:00+09:00"},
		{"2026-11-01T09:00", seoul, "2026-11-01T09:00:00+09:00"},
		{"2026-11-01 09:00:30", seoul, "2026-11-01T09:00:30+09:00"},
		{"2026-11-01T09:00:00Z", seoul, "2026-11-01T09:00:00Z"},
		{"2026-11-01T09:00:00.250-05:00", seoul, "2026-11-01T09:00:00.25-05:00"},
		{"now", time.UTC, "2026-11-21T20:30:00Z"},
		{"today", seoul, "2026-11-22T00:00:00+09:00"},
		{"yesterday", seoul, "2026-11-21T00:00:00+09:00"},
		// It is Saturday in UTC and Sunday in Seoul.
		{"saturday", time.UTC, "2026-11-21T00:00:00Z"},
		{"sunday", time.UTC, "2026-11-15T00:00:00Z"},
		{"sunday", seoul, "2026-11-22T00:00:00+09:00"},
		{"Monday", seoul, "2026-11-16T00:00:00+09:00"},
		{"this-month", seoul, "2026-11-01T00:00:00+09:00"},
		{"last-month", berlin, "2026-10-01T00:00:00+02:00"},
		{"mon", time.UTC, ""},
		{"90m", time.UTC, "2026-11-21T19:00:00Z"},
		{"30min", time.UTC, "2026-11-21T20:00:00Z"},
		{"1h30m", time.UTC, "2026-11-21T19:00:00Z"},
		{"1h30min", time.UTC, "2026-11-21T19:00:00Z"},
		{"1m", time.UTC, ""}, // a minute or a month
		{"12m", time.UTC, ""},
		{"0.5m", time.UTC, ""},
		{"1mo", time.UTC, ""},
		{"1M", time.UTC, ""},
		{"24h", time.UTC, "2026-11-20T20:30:00Z"},
		{"7d", time.UTC, "2026-11-14T20:30:00Z"},
		{"2w", time.UTC, "2026-11-07T20:30:00Z"},
		// A repeated hour means its first occurrence, and a skipped one means the end of the gap, in every zone.
		{"2026-10-25T02:30", berlin, "2026-10-25T02:30:00+02:00"},
		{"2026-10-25T03:00", berlin, "2026-10-25T03:00:00+01:00"},
		{"2026-03-29T02:30", berlin, "2026-03-29T03:00:00+02:00"},
		{"2026-03-29T03:00", berlin, "2026-03-29T03:00:00+02:00"},
		{"2026-11-01T01:30", zone(t, "America/New_York"), "2026-11-01T01:30:00-04:00"},
		{"2026-04-05T01:45", zone(t, "Australia/Lord_Howe"), "2026-04-05T01:45:00+11:00"},
		{"2026-10-04T02:15", zone(t, "Australia/Lord_Howe"), "2026-10-04T02:30:00+11:00"},
		{"2010-11-07T00:00", zone(t, "America/St_Johns"), "2010-11-07T00:00:00-02:30"},
		{"2010-11-06T23:30", zone(t, "America/St_Johns"), "2010-11-06T23:30:00-02:30"},
		{"2024-09-08", zone(t, "America/Santiago"), "2024-09-08T01:00:00-03:00"},
		{"2011-12-30T12:00", zone(t, "Pacific/Apia"), "2011-12-31T00:00:00+14:00"}, // a day that this zone skipped
		{"0d", time.UTC, "2026-11-21T20:30:00Z"},
		// A day is 24 hours, even across the night in which the clocks go back.
		{"30d", berlin, "2026-10-22T22:30:00+02:00"},
		{"", time.UTC, ""},
		{"d", time.UTC, ""},
		{"-7d", time.UTC, ""},
		{"7", time.UTC, ""},
		{"7y", time.UTC, ""},
		{"2026-13-01", time.UTC, ""},
		{"2026-02-30", time.UTC, ""},
		{"tomorrow", time.UTC, ""},
		{"99999999999999999999d", time.UTC, ""},
	} {
		got, err := ParseTime(c.in, c.loc, now)
		if c.want == "" {
			if err == nil {
				t.Errorf("ParseTime(%q) = %v, want an error", c.in, got)
			}
			continue
		}
		want, perr := time.Parse(time.RFC3339Nano, c.want)
		test.OK(t, perr)
		if err != nil || !got.Equal(want) {
			t.Errorf("ParseTime(%q, %v) = %v, %v, want %v", c.in, c.loc, got, err, want)
		}
	}
}

// If a month is as plausible as a minute, m alone is refused, and the error names both spellings.
func TestAge(t *testing.T) {
	for in, want := range map[string]time.Duration{"3d": 72 * time.Hour, "90m": 90 * time.Minute, "10min": 10 * time.Minute, "1m": 0, "x": 0} {
		if got, err := ParseAge(in); got != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	if _, err := TimeOf("since", "1m", time.UTC, time.Now()); Code(err) != ExitUsage || !strings.Contains(err.Error(), "use 1min or 30d") {
		t.Errorf("--since 1m: %v", err)
	}
}

// A span is parsed as people write it, and printed as short as possible.
func TestSpanFlag(t *testing.T) {
	for _, c := range []struct {
		in, shown string // empty: refused
		want      time.Duration
	}{
		{"7d", "7d", 7 * 24 * time.Hour},
		{"72h", "3d", 72 * time.Hour},
		{"2w", "14d", 14 * 24 * time.Hour},
		{"26h", "26h", 26 * time.Hour},
		{"90m", "1h30m", 90 * time.Minute},
		{"10m", "10m", 10 * time.Minute},
		{"5min", "5m", 5 * time.Minute},
		{"10s", "10s", 10 * time.Second},
		{"1h0m5s", "1h0m5s", time.Hour + 5*time.Second},
		{"0", "0s", 0},
		{"0d", "0s", 0},
		{"-1h", "", 0},
		{"7", "", 0},
		{"", "", 0},
	} {
		var d time.Duration
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		SpanVar(f, &d, "window", time.Hour, "")
		err := f.Parse([]string{"--window", c.in})
		if (err == nil) != (c.shown != "") || err == nil && (d != c.want || f.Lookup("window").Value.String() != c.shown) {
			t.Errorf("--window %q: %v, shown as %s, %v", c.in, d, f.Lookup("window").Value, err)
		}
	}
}
