package serve_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// Settings follow transactions, savepoints and errors, however they are set. The answers are those of
// Postgres 15.
func testSettings(t *testing.T, h *testServer) {
	for _, x := range longtest.Some(2, []struct{ options, does, shows, code string }{
		{does: "BEGIN; SET LOCAL timezone = 'Asia/Tokyo'; SHOW timezone; COMMIT; SHOW timezone", shows: "Asia/Tokyo UTC"},
		{does: "BEGIN; SET timezone = 'Asia/Tokyo'; ROLLBACK; SHOW timezone", shows: "UTC"},
		{does: "BEGIN; SET timezone = 'Asia/Tokyo'; SET LOCAL timezone = 'Asia/Seoul'; COMMIT; SHOW timezone", shows: "Asia/Tokyo"},
		{does: "BEGIN; SET LOCAL timezone = 'Asia/Seoul'; SET timezone = 'Asia/Tokyo'; COMMIT; SHOW timezone", shows: "Asia/Tokyo"},
		{does: "BEGIN; SAVEPOINT a; SET timezone = 'Asia/Tokyo'; ROLLBACK TO a; SHOW timezone; SET timezone = 'Asia/Seoul'; SAVEPOINT b; SET LOCAL timezone = 'Europe/Berlin'; RELEASE b; SHOW timezone; COMMIT; SHOW timezone", shows: "UTC Europe/Berlin Asia/Seoul"},
		{does: "BEGIN; SAVEPOINT a; SET statement_timeout = 7; SAVEPOINT a; SET statement_timeout = 8; ROLLBACK TO a; SHOW statement_timeout; RELEASE a; ROLLBACK TO SAVEPOINT a; SHOW statement_timeout; COMMIT", shows: "7 0"},
		{does: "SET timezone = 'Asia/Tokyo'; BEGIN; RESET ALL; SHOW timezone; ROLLBACK; SHOW timezone", shows: "UTC UTC"}, // one message is one transaction
		{does: "SET LOCAL timezone = 'Asia/Tokyo'; SHOW timezone", shows: "Asia/Tokyo"},
		{does: "SET timezone = 'Asia/Tokyo'; SELECT nothing", code: "42703"},
		{does: "BEGIN; SET timezone = 'Asia/Tokyo'; SELECT nothing", code: "42703"},
		{does: "BEGIN; ROLLBACK TO nothing", code: "3B001"}, {does: "BEGIN; SAVEPOINT a; RELEASE a; RELEASE a", code: "3B001"}, {does: "SAVEPOINT a", code: "25P01"},
		{does: "BEGIN; DISCARD ALL", code: "25001"}, {does: "DISCARD PLANS; DISCARD SEQUENCES; DISCARD TEMP; SHOW application_name", shows: ""}, {does: "COMMIT PREPARED 'x'", code: "42601"}, {does: "BEGIN; COMMIT AND CHAIN", code: "42601"},
		{does: "SELECT set_config('TimeZone', 'Asia/Tokyo', false), 1; SHOW timezone; SELECT current_setting('timezone')", shows: "Asia/Tokyo 1 Asia/Tokyo Asia/Tokyo"},
		{does: "BEGIN; SELECT set_config('timezone', 'Asia/Tokyo', true), '2026-01-01 00:00:00Z'::timestamptz; COMMIT; SHOW timezone", shows: "Asia/Tokyo 2026-01-01 09:00:00+09 UTC"},
		{does: "SELECT set_config('my.own', 'x', false); SHOW my.own; SELECT current_setting('my.own'), coalesce(current_setting('my.other', true), '-')", shows: "x x x -"},
		{does: "SELECT set_config(name, 'off', false) FROM pg_settings WHERE name = 'geqo'; SHOW geqo", shows: "off off"},
		{does: "SELECT set_config('nope', 'x', false)", code: "42704"}, {does: "SELECT set_config('a.b', 'c', true)::text", code: "0A000"}, {does: "SELECT current_setting('nope')", code: "42704"},
		{does: "SET nope = 3", code: "42704"}, {does: "RESET nope", code: "42704"}, {does: "SET statement_timeout = 'soon'", code: "22023"}, {does: "SET server_version = 3", code: "55P02"}, {does: "SET bytea_output = escape", code: "0A000"},
		{does: `SET ROLE 'somebody'; SET ROLE "somebody"; SET SESSION AUTHORIZATION somebody; SHOW role`, shows: "somebody"}, {does: "SET ROLE other", code: "42501"},
		{does: "SET search_path = a b", code: "42601"}, {does: "SET TRANSACTION SNAPSHOT 'x'", code: "0A000"}, {does: "NOTIFY x", code: "25006"}, {does: "SET client_encoding = 'EUC_KR'", code: "22023"},
		{does: "COPY (SELECT 1) TO STDOUT (ENCODING 'EUC_KR')", code: "22023"}, {does: `COPY (SELECT 1) TO STDOUT (FORMAT "csv", HEADER true, ENCODING 'utf-8')`},
		{does: "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL"},
		{options: `-c timezone=Asia/Tokyo`, does: "SHOW timezone; SHOW statement_timeout", shows: "Asia/Tokyo 0"}, {options: `-ctimezone=asia/TOKYO --statement-timeout=5s`, does: "SHOW timezone; SHOW statement_timeout", shows: "Asia/Tokyo 5s"}, {options: `-c  application_name=a\ b\\c -c statement-timeout=7 -c timezone=GMT-09:00`, does: "SHOW timezone; SHOW statement_timeout", shows: "GMT-09:00 7"},
		{options: `--timezone=KST-9`, does: "SHOW timezone; SHOW statement_timeout", shows: "KST-9 0"}, {options: `-c timezone=GMT-05:30`, does: "SHOW timezone; SHOW statement_timeout", shows: "GMT-05:30 0"}, {options: `-c nope=1`, code: "42704"},
		{options: `-c timezone`, code: "42601"}, {options: `-x`, code: "42601"}, {options: `hello`, code: "42601"},
		{options: `--timezone=+05:30`, code: "22023"}, {options: `-c timezone=nowhere`, code: "22023"}, {options: `-c max_connections=3`, code: "55P02"},
		{options: `-c client_encoding=EUC_KR`, code: "22023"},
		{does: "SET TIME ZONE 'GMT-09:00'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE '<-03>3'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE '9'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE '5.5'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE 'GMT-05:45'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE 'us/eastern'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE 'Etc/GMT-9'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE 'utc'; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE -7; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE INTERVAL '+05:30' HOUR TO MINUTE; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11); SET TIME ZONE INTERVAL '-03:00' HOUR TO MINUTE; SELECT right((timestamptz '2026-01-01 12:00:00Z')::text, -11);", shows: "21:00:00+09 09:00:00-03 21:00:00+09 17:30:00+05:30 17:45:00+05:45 07:00:00-05 21:00:00+09 12:00:00+00 05:00:00-07 17:30:00+05:30 09:00:00-03"},
	}) {
		config, err := pgx.ParseConfig("postgres://somebody@" + h.address + "/callhouse")
		test.OK(t, err)
		config.RuntimeParams["options"] = x.options
		c, err := pgx.ConnectConfig(t.Context(), config)
		var shows []string
		if err == nil {
			shows, err = cellsOf(t, c, x.does)
		}
		if err != nil && code(err) != x.code || err == nil && (x.code != "" || x.shows != "" && strings.Join(shows, " ") != x.shows) {
			t.Errorf("%s %s: %q, %v; want %q, %s", x.options, x.does, shows, err, x.shows, x.code)
		}
		if c == nil {
			continue
		}
		_ = texts(t, c, "ROLLBACK") // and after an error
		if zone := strings.Join(texts(t, c, "SHOW timezone"), ""); zone != c.PgConn().ParameterStatus("TimeZone") || err != nil && zone != "UTC" {
			t.Errorf("%s: %s, told %s", x.does, zone, c.PgConn().ParameterStatus("TimeZone"))
		}
		_ = c.Close(t.Context())
	}
	c := h.connect(t, "") // a prepared statement has the zone and the settings of each time it runs
	_, err := c.Prepare(t.Context(), "s", "SELECT date_trunc('day', start_at)::text || current_setting('TimeZone') FROM calls LIMIT 1")
	test.OK(t, err)
	for _, want := range []string{"2025-10-09 00:00:00+00UTC", "2025-10-09 00:00:00+09Asia/Seoul", "2025-10-09 00:00:00-04America/New_York"} {
		var got string
		_, err := c.Exec(t.Context(), "SELECT set_config($1, $2, $3)", "TimeZone", want[22:], false)
		test.OK(t, err)
		if err := c.QueryRow(t.Context(), "s").Scan(&got); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
