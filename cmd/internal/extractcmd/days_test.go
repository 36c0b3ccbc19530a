package extractcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/config"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// A date that a user gives is a day of the zone tz: it begins at the first instant that clocks there
// show it. An instant with an offset is exact in every zone.
func TestDatesAreDaysOfTheZone(t *testing.T) {
	for i, c := range []struct{ zone, text, begins string }{
		{"UTC", "2024-11-20", "2024-11-20T00:00:00Z"},
		{"Asia/Seoul", "2024-11-20", "2024-11-19T15:00:00Z"},
		{"Asia/Kathmandu", "2024-11-20", "2024-11-19T18:15:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"}, // no midnight: clocks went from 00:00 to 01:00
		{"America/Havana", "2024-11-03", "2024-11-03T04:00:00Z"},    // two midnights
		{"America/New_York", "2024-07-01", "2024-07-01T04:00:00Z"},
		{"Asia/Seoul", "2024-11-20T08:30", "2024-11-19T23:30:00Z"},
		{"Asia/Seoul", "2024-11-20T08:30:00+02:00", "2024-11-20T06:30:00Z"},
		{"Asia/Seoul", "2024-11-20T08:30:00Z", "2024-11-20T08:30:00Z"},
	} {
		t.Run(c.zone+" "+c.text, func(t *testing.T) {
			begins, err := time.Parse(time.RFC3339, c.begins)
			test.OK(t, err)
			s := settings{Config: config.Config{Values: config.Values{TZ: c.zone, Since: c.text}}}
			if got, err := s.listFrom(time.Now()); err != nil || !got.Equal(begins) {
				t.Errorf("--since: %v, %v", got, err)
			}
			if !longtest.Each(3)(i) {
				return
			}
			dir := t.TempDir()
			root, file := filepath.Join(dir, "w"), filepath.Join(dir, "calls.ndjson")
			lines := fmt.Sprintf(`{"id":"before","start_at":%d}`+"\n"+`{"id":"after","start_at":%d}`+"\n",
				begins.UnixMilli()-1, begins.UnixMilli())
			test.OK(t, os.WriteFile(file, []byte(lines), 0o600))
			extract := func(args ...string) string {
				t.Helper()
				code, _, stderr := call(t, "", append(args, "--warehouse", root, "--tz", c.zone)...)
				if code != 0 {
					t.Fatalf("%v: exit %d, %s", args, code, stderr)
				}
				return stderr
			}
			extract("import", file)
			for _, how := range []string{"--dry-run", "--yes"} {
				said := extract("forget", "--before", c.text, how)
				if !strings.Contains(said, " 1 call ") || !strings.Contains(said, " in "+c.zone+", "+c.begins+"\n") {
					t.Errorf("%s: %s", how, said)
				}
			}
			if code, _, _ := call(t, "", "show", "after", "--warehouse", root); code != 0 {
				t.Error("a call of the day itself is erased")
			}
		})
	}
}

// Retention erases whole days of the zone, and never a call younger than it keeps.
func TestKeepIsWholeDaysOfTheZone(t *testing.T) {
	now := time.Date(2024, 11, 20, 15, 30, 0, 0, time.UTC) // 00:30 of the 21st in Seoul
	for zone, want := range map[string]string{"UTC": "2024-11-10T00:00:00Z", "Asia/Seoul": "2024-11-10T15:00:00Z"} {
		s := settings{Config: config.Config{Values: config.Values{TZ: zone}}}
		calls, err := s.keepFrom("keep", "10d", now)
		if err != nil || calls.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", zone, calls, err)
		}
	}
}

// The time of imported data is a day of the zone, too: an hour after its begin, a file is newer.
func TestAsOfIsADayOfTheZone(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "w")
	for _, summary := range []string{"first", "second"} {
		file := filepath.Join(dir, summary)
		body := `{"id":"c","status":"ended","start_at":1700000000000,"end_at":1700000001000,"call_analysis":{"summary":"` + summary + `"}}`
		test.OK(t, os.WriteFile(file, []byte(body), 0o600))
		at := time.Date(2024, 11, 19, 16, 0, 0, 0, time.UTC)
		test.OK(t, os.Chtimes(file, at, at))
		args := []string{"import", file, "--warehouse", root, "--tz", "Asia/Seoul"}
		if summary == "first" {
			args = append(args, "--as-of", "2024-11-20") // 15:00 UTC of the day before
		}
		if code, _, stderr := call(t, "", args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	if _, out, _ := call(t, "", "show", "c", "--warehouse", root); !strings.Contains(out, `"summary":"second"`) {
		t.Error(out)
	}
}

// A date in an unknown zone has no meaning: nothing is erased, and nothing is listed.
func TestDateInAnUnknownZone(t *testing.T) {
	root := tended(t)
	before, err := layout.Current(root)
	test.OK(t, err)
	for _, args := range []string{"forget --before 2099-01-01 --yes", "run --since 2024-01-01 --base-url http://127.0.0.1:1", "run --keep 400d --base-url http://127.0.0.1:1"} {
		code, _, stderr := call(t, "", append(strings.Fields(args), "--warehouse", root, "--tz", "Asia/Soul")...)
		if code != 2 || !strings.Contains(stderr, `unknown time zone "Asia/Soul"`) {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
	if after, err := layout.Current(root); err != nil || after.Manifest.Rows(schema.Calls.Name) != before.Manifest.Rows(schema.Calls.Name) {
		t.Errorf("the warehouse changed: %v", err)
	}
}
