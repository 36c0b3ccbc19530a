// Package analyticstest creates small warehouses for tests: Parquet files written by DuckDB from
// the declared columns, a manifest, and the link current. It shares no code with the sink. Only
// tests import it.
package analyticstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Row is a row by column name. Missing columns are null or, if required, have a default. Timestamps
// are int64 milliseconds, decimals strings.
type Row map[string]any

// Data is the content of a snapshot by table.
type Data struct {
	Calls, Turns, Items, Recordings, Runs []Row
	// Archive is the address of the archive of recordings.
	Archive string
	// Others are the rows of the resources.
	Others map[*schema.Table][]Row
	// Lacking are columns of calls that the files lack, as in an older version.
	Lacking []string
	// Compacted reports whether a month, such as "2026-11", is compacted into one file per table
	// with tallies; nil: none. If any month is, days that end in 1, 5 or 9 have tallies too, as if
	// they had many calls.
	Compacted func(month string) bool
	// Earlier reports whether the files of a period have an earlier format, without facts derived
	// from transcripts; nil: some do, at random.
	Earlier func(period string) bool
	// Coverage is the manifest's coverage; nil: everything is listed.
	Coverage []schema.Span
}

// One returns a row of each resource, and of recordings, with values in all columns.
func One() map[*schema.Table][]Row {
	out := map[*schema.Table][]Row{}
	for _, t := range resource.Tables {
		if slices.Contains(schema.Tables, t) && t != &schema.Recordings {
			continue
		}
		row := Row{}
		for _, c := range t.Columns {
			if row[c.Name] = usual(c); c.Type == schema.JSON {
				row[c.Name] = `{"a":1.50}`
			}
		}
		out[t] = []Row{row}
	}
	return out
}

// database writes the files of all warehouses of a test program: opening one for each would take
// longer than writing most of them. It is never closed, so its unused temporary folder is removed
// at once.
var database = sync.OnceValues(func() (*duck.DB, error) {
	db, err := duck.Open(duck.Config{Threads: 1})
	if err != nil {
		return nil, err
	}
	conn, err := db.Connect()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	folder, err := conn.Column(context.Background(), "SELECT current_setting('temp_directory')")
	if err != nil {
		return nil, err
	}
	return db, os.RemoveAll(folder[0])
})

// Write creates snapshot n of the warehouse at root and swaps current to it.
func Write(t testing.TB, root string, n int64, d Data) {
	t.Helper()
	db, err := database()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	w := &writer{t: t, conn: conn, compacted: d.Compacted, dir: filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(n)), n: n}
	m := layout.Manifest{FormatVersion: layout.FormatVersion, Snapshot: n, CommittedAt: time.UnixMilli(0).UTC(), Coverage: d.Coverage,
		Archive: d.Archive}
	if d.Coverage == nil {
		m.Coverage = []schema.Span{{From: -1 << 60, To: 1 << 60}}
	}
	d = w.derive(d)
	m.Files = append(m.Files, w.table(&schema.Calls, d.Calls, d.Lacking)...)
	m.Files = append(m.Files, w.table(&schema.Turns, d.Turns, nil)...)
	m.Files = append(m.Files, w.table(&schema.Items, d.Items, nil)...)
	m.Files = append(m.Files, w.table(&schema.Recordings, d.Recordings, nil)...)
	m.Files = append(m.Files, w.table(&schema.ToolCalls, w.tools, nil)...)
	for _, f := range m.Files {
		if f.Table == schema.Calls.Name && (schema.IsMonth(f.Period) || w.large(f.Period)) {
			m.Files = append(m.Files, w.tallies(f, m.Files)...)
		}
	}
	m.Files = append(m.Files, w.table(&schema.Runs, d.Runs, nil)...)
	for _, table := range resource.Tables {
		if rows := d.Others[table]; len(rows) > 0 {
			m.Files = append(m.Files, w.table(table, rows, nil)...)
		}
	}
	raw, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, layout.ManifestName), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	Swap(t, root, n)
}

// Edit changes a manifest and updates its checksum.
func Edit(t testing.TB, path string, edit func(*layout.Manifest)) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := layout.ParseManifest(raw)
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	if raw, err = m.Encode(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Swap points current at snapshot n, like a commit.
func Swap(t testing.TB, root string, n int64) {
	t.Helper()
	tmp := filepath.Join(root, layout.TempName(layout.CurrentName, fmt.Sprintf("%016x", n)))
	if err := os.Symlink(filepath.Join(layout.SnapshotsName, layout.SnapshotName(n)), tmp); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(root, layout.CurrentName)); err != nil {
		t.Fatal(err)
	}
}

type writer struct {
	t         testing.TB
	conn      *duck.Conn
	compacted func(month string) bool
	dir       string
	n         int64
	made      int
	earlier   map[string]bool // periods whose files have an earlier format
	tools     []Row           // of the other periods
}

// table writes a table's rows, one file per UTC day of start or compacted month.
func (w *writer) table(t *schema.Table, rows []Row, lacking []string) []layout.File {
	w.t.Helper()
	byDay := map[string][]Row{}
	for _, r := range rows {
		period := w.period(t, r)
		byDay[period] = append(byDay[period], r)
	}
	if len(byDay) == 0 {
		return nil
	}
	var files []layout.File
	for _, d := range slices.Sorted(maps.Keys(byDay)) {
		files = append(files, w.file(t, d, byDay[d]))
	}
	w.write(t, files, byDay, lacking)
	return files
}

// tallies writes the tallies of a compacted month or of a day, from its file of calls.
func (w *writer) tallies(calls layout.File, all []layout.File) (files []layout.File) {
	pathOf := func(t *schema.Table) string {
		for _, f := range all {
			if f.Table == t.Name && f.Period == calls.Period {
				return filepath.Join(w.dir, filepath.FromSlash(f.Path))
			}
		}
		return ""
	}
	for _, t := range schema.TalliesOf(calls.Period) {
		from := "FROM '" + pathOf(&schema.Calls) + "' GROUP BY ALL"
		var columns, ids []string
		for _, c := range t.Columns {
			expr := map[string]string{
				"start_at":      "time_bucket(INTERVAL 15 MINUTE, start_at)",
				"is_started":    "start_at IS NOT NULL",
				"duration_step": "duration_ms - duration_ms % 5000",
				"opted_out":     "opt_out_sensitive_data_storage IS NOT DISTINCT FROM true",
				"caller_spoke":  "user_turns > 0",
				"short_step":    "CASE WHEN duration_ms < 5000 THEN 0 WHEN duration_ms < 10000 THEN 5000 WHEN duration_ms >= 10000 THEN 10000 END",
				"calls":         "count(*)", "timed_calls": "count(duration_ms)", "costed_calls": "count(total_cost)",
				"total_ms": "sum(duration_ms)", "max_ms": "max(duration_ms)", "total_cost": "sum(total_cost)",
				"timed_cost": "sum(total_cost) FILTER (duration_ms IS NOT NULL)", "costed_ms": "sum(duration_ms) FILTER (total_cost IS NOT NULL)",
				"unheld_costs": `count(*) FILTER (total_cost IS NULL AND extra LIKE '%"call_cost":%')`,
			}[c.Name]
			if expr == "" {
				expr = c.Name
			}
			columns = append(columns, fmt.Sprintf("CAST(%s AS %s) AS %s", expr, c.Type.DuckDB(), c.Name))
			ids = append(ids, fmt.Sprintf(`%s: %d`, c.Name, c.ID))
		}
		if t == &schema.MinuteTallies {
			columns, from = []string{"*"}, "FROM ("+strings.ReplaceAll(minutes, "FILE", filepath.Join(w.dir, filepath.FromSlash(calls.Path)))+")"
		}
		if slices.Contains(schema.FactTables, t) {
			of := map[*schema.Table]*schema.Table{&schema.ToolTallies: &schema.ToolCalls, &schema.ItemTallies: &schema.Items}[t]
			if of == nil {
				of = &schema.Calls
			}
			path := pathOf(of)
			if path == "" || w.earlier[calls.Period] { // earlier builds wrote none
				continue
			}
			offsets := strings.Trim(strings.ReplaceAll(fmt.Sprint(schema.AttemptOffsets), " ", ", "), "[]")
			places := strings.NewReplacer("FILE", path, "CALLS", pathOf(&schema.Calls), "OFFSETS", offsets, "OFDAY",
				strconv.FormatBool(!schema.IsMonth(calls.Period)))
			columns, from = []string{"*"}, "FROM ("+places.Replace(factTallies[t])+")"
		}
		f := layout.File{Table: t.Name, Format: w.format(calls.Period), Period: calls.Period,
			Path: layout.DataFile(t.Name, calls.Period, fmt.Sprintf("%016x", w.n))}
		path := filepath.Join(w.dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		text := fmt.Sprintf("COPY (SELECT %s %s) TO '%s' (FORMAT parquet, FIELD_IDS {%s})",
			strings.Join(columns, ", "), from, path, strings.Join(ids, ", "))
		if err := w.conn.Exec(context.Background(), text); err != nil {
			w.t.Fatalf("write %s: %v", f.Path, err)
		}
		w.sum(path, &f)
		files = append(files, f)
	}
	return files
}

// factTallies are SELECTs that tally the rows of a file.
var factTallies = map[*schema.Table]string{
	&schema.ToolTallies: `SELECT tool_name, pause_ms, duration_ms, count(*) AS uses, count(*) FILTER (is_first) AS first_uses,
    count(*) FILTER (failed) AS failed_uses, count(failed) AS answered_uses
FROM 'FILE' GROUP BY tool_name, pause_ms, duration_ms`,
	// A field with more than six rows is given up.
	&schema.ItemTallies: `WITH i AS (
    SELECT i.*, c.agent_id, c.total_cost, if(c.total_cost IS NULL, c.credits_used, NULL) AS credits,
        count(*) OVER (PARTITION BY i.call_id, name) > 1 AS twice
    FROM 'FILE' i LEFT JOIN (SELECT call_id, agent_id, total_cost, credits_used FROM 'CALLS') c ON c.call_id = i.call_id
), r AS (
    SELECT *, bool_or(twice) OVER (PARTITION BY name) AS is_repeated FROM i
), v AS (
    SELECT name, type, value, agent_id, is_repeated, count(*) AS items,
        count(total_cost) AS costed_calls, count(credits) AS credited_calls,
        CAST(sum(total_cost) AS DECIMAL(38, 18)) AS total_cost, CAST(sum(credits) AS DECIMAL(38, 18)) AS credits
    FROM r GROUP BY name, type, value, agent_id, is_repeated
), n AS (
    SELECT *, count(*) OVER (PARTITION BY name, type) > 6 AS given_up FROM v
)
SELECT * EXCLUDE given_up FROM n WHERE NOT given_up OR CAST(value AS VARCHAR) IN ('true', 'false')
UNION ALL SELECT DISTINCT name, type, NULL, NULL, is_repeated, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT),
    CAST(NULL AS DECIMAL(38, 18)), CAST(NULL AS DECIMAL(38, 18)) FROM n WHERE given_up`,
	&schema.SpeechTallies: `SELECT response_ms, count(*) AS responses,
    CAST(NULL AS BIGINT) AS longest_silence_ms, CAST(NULL AS BIGINT) AS calls,
    CAST(NULL AS BIGINT) AS spoken_turns, CAST(NULL AS BIGINT) AS agent_talk_ms, CAST(NULL AS BIGINT) AS user_talk_ms,
    CAST(NULL AS BIGINT) AS interrupted_calls, CAST(NULL AS BIGINT) AS agent_interruptions, CAST(NULL AS BIGINT) AS user_interruptions
FROM (SELECT unnest(CAST(CAST(response_ms AS VARCHAR) AS BIGINT[])) AS response_ms FROM 'FILE') GROUP BY response_ms
UNION ALL
SELECT NULL, NULL, longest_silence_ms, count(*), CAST(sum(spoken_turns) AS BIGINT), CAST(sum(agent_talk_ms) AS BIGINT),
    CAST(sum(user_talk_ms) AS BIGINT), CAST(sum(if(user_interruptions > 0, 1, 0)) AS BIGINT), CAST(sum(agent_interruptions) AS BIGINT),
    CAST(sum(user_interruptions) AS BIGINT)
FROM 'FILE' WHERE spoken_turns > 0 GROUP BY longest_silence_ms`,
	&schema.LongestTallies: `SELECT ` + endWords + `, user_sentiment, failed_tool_uses, duration_ms, start_at, call_id, agent_id
FROM 'FILE' WHERE transcript_state = 'present'
QUALIFY row_number() OVER (PARTITION BY status, disconnection_reason, settlement, caller_spoke, short_step, user_sentiment, failed_tool_uses
    ORDER BY duration_ms DESC NULLS LAST, start_at DESC NULLS LAST, call_id) <= 20`,
	&schema.CallerTallies: `WITH d AS (
    SELECT *, coalesce(direction, if(call_type = 'web', NULL, if(call_type IN ('inbound', 'outbound'), call_type, 'unknown'))) AS way,
        ` + unmet + ` OR disconnection_reason = 'voicemail_reached' AS unmet
    FROM 'FILE' WHERE start_at IS NOT NULL
), c AS (
    SELECT CASE way WHEN 'inbound' THEN from_number WHEN 'outbound' THEN to_number END AS sent,
        coalesce(CASE way WHEN 'inbound' THEN from_e164 WHEN 'outbound' THEN to_e164 END,
            if(regexp_matches(sent, '[1-9]') AND sent NOT ILIKE '%anonymous%', sent, NULL)) AS caller, epoch_ms(start_at) AS ms,
        way = 'unknown' AS undirected, unmet IS NOT TRUE AND settlement <> 'open'
            AND (user_turns > 0 OR transcript_state = 'empty' OR transcript_state = 'present' AND user_turns IS NOT NULL) AS answered,
        answered AND user_turns > 0 AND coalesce(status, 'ended') = 'ended' AND disconnection_reason IN ('user_hangup', 'agent_hangup')
            AND coalesce(duration_ms, 10000) >= 10000 AS completed
    FROM d WHERE way = 'inbound' OR unmet IS NOT TRUE
), n AS (
    SELECT *, count(*) OVER (PARTITION BY caller ORDER BY ms RANGE BETWEEN 86400000 PRECEDING AND CURRENT ROW) > 1 AS in_day,
        count(*) OVER (PARTITION BY caller ORDER BY ms RANGE BETWEEN 604800000 PRECEDING AND CURRENT ROW) > 1 AS in_week,
        completed AND count(*) OVER (PARTITION BY caller ORDER BY ms RANGE BETWEEN CURRENT ROW AND 86400000 FOLLOWING) = 1 AS first_contact
    FROM c
)
SELECT caller, make_timestamptz(1000 * min(ms)) AS first_start_at, make_timestamptz(1000 * max(ms)) AS last_start_at, count(*) AS calls,
    CAST(sum(if(undirected, 1, 0)) AS BIGINT) AS undirected_calls, bool_or(in_day) AS repeats_24h, bool_or(in_week) AS repeats_7d,
    CAST(sum(if(answered, 1, 0)) AS BIGINT) AS answered_calls, CAST(sum(if(completed, 1, 0)) AS BIGINT) AS completed_calls,
    CAST(sum(if(first_contact, 1, 0)) AS BIGINT) AS first_contact_calls,
    coalesce(bool_or(first_contact AND ms = latest), false) AS leaves_first_contact
FROM (SELECT *, max(ms) OVER (PARTITION BY caller) AS latest FROM n) GROUP BY caller`,
	&schema.AttemptTallies: `WITH ` + attempts + `, o AS (
    SELECT *, date_trunc('week', make_timestamp(1000 * (ms + 60000 * offset_minutes))) AS week,
        CAST(make_timestamp(1000 * (ms + 60000 * offset_minutes)) AS DATE) AS date
    FROM c, unnest(CAST([OFFSETS] AS BIGINT[])) t(offset_minutes)
), n AS (
    SELECT make_timestamptz(epoch_us(week) - 60000000 * offset_minutes) AS week_start_at, met, span,
        CASE WHEN number IS NOT NULL
            THEN least(6, rank() OVER (PARTITION BY offset_minutes, number, span, if(span = 'day', date, week) ORDER BY ms)) END AS attempt
    FROM o, unnest(['day', 'week']) s(span)
)
SELECT week_start_at, span, attempt, count(*) AS calls, count(met) AS known_calls,
    CAST(sum(if(met = 'person', 1, 0)) AS BIGINT) AS reached_calls, CAST(sum(if(met = 'machine', 1, 0)) AS BIGINT) AS voicemail_calls
FROM n
WHERE epoch_ms(week_start_at) >= (SELECT epoch_ms(date_trunc('month', make_timestamp(1000 * min(ms)))) FROM c)
GROUP BY ALL`,
	&schema.AttemptEdges: `WITH ` + attempts + `, m AS (SELECT epoch_ms(date_trunc('month', make_timestamp(1000 * min(ms)))) AS begins,
    epoch_ms(date_trunc('month', make_timestamp(1000 * min(ms))) + INTERVAL 1 MONTH) AS ends FROM c)
SELECT number, make_timestamptz(1000 * ms) AS start_at, met AS result
FROM c, m WHERE ms < begins + 604800000 OR ms >= ends - 604800000 OR OFDAY`,
	&schema.AnswerTallies: `WITH a AS (
    SELECT * FROM 'FILE' WHERE start_at IS NOT NULL AND settlement <> 'open'
        AND (user_turns > 0 OR transcript_state = 'empty' OR transcript_state = 'present' AND user_turns IS NOT NULL)
        AND (` + unmet + ` OR disconnection_reason = 'voicemail_reached') IS NOT TRUE
)
SELECT agent_first_word_ms AS first_word_ms, CAST(NULL AS VARCHAR) AS last_tool, CAST(NULL AS BIGINT) AS duration_ms,
    count(*) AS calls, agent_id
FROM a WHERE agent_first_word_ms IS NOT NULL GROUP BY ALL
UNION ALL SELECT NULL, last_tool, duration_ms, count(*), agent_id FROM a
WHERE disconnection_reason IN ('call_transfer', 'operator_hangup') AND coalesce(status, 'ended') IN ('ongoing', 'ended', 'error')
GROUP BY ALL`,
	&schema.FlowTallies: `WITH c AS (
    SELECT call_id, agent_id, agent_version, start_at, disconnection_reason AS reason,
        if(agent_version = 'production', make_timestamptz(86400000000 * CAST(floor(epoch_ms(start_at) / 86400000) AS BIGINT)), NULL)
            AS day_at,
        CAST(nullif(moves, '[]') AS JSON[]) AS moves, user_turns > 0 AS spoke,
        start_at IS NOT NULL AND user_turns IS NOT NULL AND (` + unmet + ` OR reason = 'voicemail_reached') IS NOT TRUE AS answered,
        CASE WHEN NOT answered OR status NOT IN ('ongoing', 'ended', 'error') THEN NULL
            WHEN reason IN ('call_transfer', 'operator_hangup') THEN 'transferred'
            WHEN reason IN ('error_voxai', 'flow_error', 'orphaned_no_agent_pickup', 'inactivity', 'max_duration_reached',
                'insufficient_balance') THEN 'lost'
            WHEN reason NOT IN ('user_hangup', 'agent_hangup') THEN NULL
            WHEN status = 'error' THEN 'lost'
            WHEN status = 'ongoing' OR reason IS NULL THEN NULL
            WHEN NOT spoke OR duration_ms < 10000 THEN 'lost' ELSE 'completed' END AS outcome
    FROM 'FILE' WHERE transcript_state = 'present' AND settlement <> 'open'
), m AS ( -- i is 0 for the end
    SELECT * EXCLUDE moves, moves IS NOT NULL AS is_moved, unnest(range(len(coalesce(moves, [])) + 1)) AS i, moves[i] ->> '$.node' AS node,
        coalesce(moves[i] ->> '$.failed' = 'true', false) AS failed, len(moves) AS n
    FROM c
), s AS (
    SELECT *, last(if(failed OR i = 0, NULL, node) IGNORE NULLS) OVER (PARTITION BY call_id ORDER BY if(i = 0, n + 1, i)
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_node,
        if(i = 0, NULL, node) AS to_node
    FROM m
), o AS (
    SELECT * EXCLUDE (i, node, failed, n), count(*) FILTER (NOT failed) AS passes, count(*) FILTER (failed) AS failed_passes
    FROM s GROUP BY ALL
)
SELECT agent_id, agent_version, day_at, from_node, to_node, is_moved, max(start_at) AS start_at,
    count(*) FILTER (passes > 0) AS calls, CAST(sum(passes) AS BIGINT) AS passes, CAST(sum(failed_passes) AS BIGINT) AS failed_passes,
    count(*) FILTER (passes > 0 AND answered) AS answered_calls, count(*) FILTER (passes > 0 AND outcome = 'completed') AS completed_calls,
    count(*) FILTER (passes > 0 AND outcome = 'transferred') AS transferred_calls,
    count(*) FILTER (passes > 0 AND outcome = 'lost') AS lost_calls,
    count(*) FILTER (passes > 0 AND answered AND reason = 'user_hangup') AS hung_up_calls
FROM o GROUP BY agent_id, agent_version, day_at, from_node, to_node, is_moved, start_at IS NULL`,
}

// attempts are the outbound calls of a file.
const attempts = `c AS (
    SELECT epoch_ms(start_at) AS ms,
        coalesce(to_e164, if(regexp_matches(to_number, '[1-9]') AND to_number NOT ILIKE '%anonymous%', to_number, NULL)) AS number,
        CASE WHEN settlement = 'open' THEN NULL
            WHEN ` + unmet + ` THEN 'nobody'
            WHEN status IS NULL AND disconnection_reason IS NULL OR status NOT IN ('ongoing', 'ended', 'error')
                OR disconnection_reason NOT IN ('user_hangup', 'agent_hangup', 'operator_hangup', 'call_transfer', 'voicemail_reached',
                'inactivity', 'max_duration_reached', 'error_voxai', 'flow_error', 'orphaned_no_agent_pickup', 'insufficient_balance')
                THEN NULL
            WHEN disconnection_reason = 'voicemail_reached' THEN 'machine' ELSE 'person' END AS met
    FROM 'FILE' WHERE start_at IS NOT NULL AND coalesce(direction, call_type) = 'outbound'
)`

// unmet is whether a started call did not connect.
const unmet = `(status IN ('queued', 'registered', 'initiated', 'ringing', 'not_connected', 'canceled')
            OR disconnection_reason IN ('dial_no_answer', 'dial_busy', 'dial_declined', 'dial_failed',
            'blocked_number', 'concurrency_limit_reached', 'hourly_call_limit_reached', 'daily_call_limit_reached')
            OR disconnection_reason = 'insufficient_balance' AND status IS DISTINCT FROM 'ended')`

// endWords are the columns that determine how a call with a transcript ended.
const endWords = `status, disconnection_reason, settlement, user_turns > 0 AS caller_spoke,
    CASE WHEN duration_ms < 5000 THEN 0 WHEN duration_ms < 10000 THEN 5000 WHEN duration_ms >= 10000 THEN 10000 END AS short_step`

// minutes counts the simultaneous calls of a file: those in progress at each start, and in the last
// millisecond of each call.
const minutes = `WITH c AS (
    SELECT epoch_ms(start_at) AS from_ms, duration_ms AS ms FROM 'FILE' WHERE start_at IS NOT NULL AND duration_ms IS NOT NULL
), asked AS (
    SELECT from_ms AS moment, ms > 0 AS starts, 1 AS calls, ms AS longest FROM c
    UNION ALL SELECT from_ms + ms - 1, false, 0, NULL FROM c WHERE ms > 0
), seen AS (
    SELECT moment, bool_or(starts) AS starts, sum(calls) AS calls, max(longest) AS longest,
        (SELECT count(*) FROM c WHERE from_ms <= moment AND moment < from_ms + ms) AS going
    FROM asked GROUP BY moment
)
SELECT make_timestamptz(60000000 * CAST(floor(moment / 60000) AS BIGINT)) AS start_at, CAST(sum(calls) AS BIGINT) AS calls,
    max(going) AS peak_calls,
    make_timestamptz(1000 * CASE WHEN arg_max(starts, going * 1000000000000000 - moment)
        THEN arg_max(moment, going * 1000000000000000 - moment) END) AS peak_at,
    max(longest) AS longest_ms
FROM seen GROUP BY ALL ORDER BY 1`

// sum records the size and checksum of a file.
func (w *writer) sum(path string, f *layout.File) {
	w.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	f.Bytes, f.SHA256 = int64(len(raw)), hex.EncodeToString(sum[:])
}

// period returns the period of a row's file.
func (w *writer) period(t *schema.Table, r Row) string {
	period := day(t, r)
	if period != "" && w.compacted != nil && w.compacted(period[:7]) {
		return period[:7]
	}
	return period
}

func day(t *schema.Table, r Row) string {
	if !slices.Contains(schema.CallTables, t) {
		return ""
	}
	if ms, ok := start(t, r); ok {
		return layout.Day(ms)
	}
	return "2026-11-20" // the day it was first seen
}

func start(t *schema.Table, r Row) (int64, bool) {
	name := "call_start_at"
	if t == &schema.Calls {
		name = "start_at"
	}
	ms, ok := r[name].(int64)
	return ms, ok
}

// large reports whether a day gets tallies, as if it had many calls.
func (w *writer) large(period string) bool {
	return w.compacted != nil && !schema.IsMonth(period) && strings.Contains("159", period[len(period)-1:]) && !w.earlier[period]
}

// file describes the file of a period, without size and checksum.
func (w *writer) file(t *schema.Table, period string, rows []Row) layout.File {
	w.made++
	f := layout.File{Table: t.Name, Format: w.format(period), Period: period, Path: layout.RunsFile, Rows: int64(len(rows))}
	if t != &schema.Runs {
		f.Path = layout.DataFile(t.Name, period, fmt.Sprintf("%08x%08x", w.n, w.made))
	}
	if t == &schema.Calls {
		if schema.IsMonth(period) && !w.earlier[period] || w.large(period) {
			f.Counted = layout.CountedVersion
		}
		f.Credits, f.Undated = new(int64), new(int64)
		if !w.earlier[period] {
			f.Moved = new(int64)
		}
	}
	for _, r := range rows {
		if f.Credits != nil && r["total_cost"] == nil && r["credits_used"] != nil {
			*f.Credits++
		}
		if moves, _ := r["moves"].(string); f.Moved != nil && len(moves) > len("[]") {
			*f.Moved++
		}
		if ms, ok := start(t, r); ok {
			f.MinStart, f.MaxStart = lower(f.MinStart, ms), higher(f.MaxStart, ms)
		} else if f.Undated != nil {
			*f.Undated++
		}
	}
	return f
}

// write writes a table's files in one statement.
func (w *writer) write(t *schema.Table, files []layout.File, byDay map[string][]Row, lacking []string) {
	w.t.Helper()
	const part = "number of the file"
	names, texts, ids := []string{fmt.Sprintf("%q", part)}, []string{fmt.Sprintf("'%s': 'INTEGER'", part)}, []string{}
	for _, c := range t.Columns {
		if contains(lacking, c.Name) {
			continue
		}
		names = append(names, fmt.Sprintf("%s AS \"%s\"", fromText(c), c.Name))
		texts = append(texts, fmt.Sprintf("'%s': 'VARCHAR'", c.Name))
		ids = append(ids, fmt.Sprintf(`"%s": %d`, c.Name, c.ID))
	}
	dir := w.t.TempDir()
	lines, err := os.Create(filepath.Join(dir, "rows.ndjson"))
	if err != nil {
		w.t.Fatal(err)
	}
	to := json.NewEncoder(lines)
	for i, f := range files {
		for _, r := range byDay[f.Period] {
			line := texted(t, r)
			line[part] = i
			if err := to.Encode(line); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if err := lines.Close(); err != nil {
		w.t.Fatal(err)
	}
	text := fmt.Sprintf("SET partitioned_write_max_open_files = %d; COPY (SELECT %s FROM read_json('%s', format = "+
		"'newline_delimited', columns = {%s})) TO '%s' (FORMAT parquet, PARTITION_BY (%q), FIELD_IDS {%s})",
		len(files)+1, strings.Join(names, ", "), lines.Name(), strings.Join(texts, ", "), filepath.Join(dir, "files"), part,
		strings.Join(ids, ", "))
	if err := w.conn.Exec(context.Background(), text); err != nil {
		w.t.Fatalf("write %s: %v", t.Name, err)
	}
	for i := range files {
		path := filepath.Join(w.dir, filepath.FromSlash(files[i].Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		made, err := filepath.Glob(filepath.Join(dir, "files", fmt.Sprintf("*=%d", i), "*"))
		if err != nil || len(made) != 1 {
			w.t.Fatalf("%s: the files are %v: %v", files[i].Path, made, err)
		}
		if err := os.Rename(made[0], path); err != nil {
			w.t.Fatal(err)
		}
		w.sum(path, &files[i])
	}
}

// texted returns the values of a row as strings, with defaults for missing ones.
func texted(t *schema.Table, r Row) map[string]any {
	line := map[string]any{}
	for _, c := range t.Columns {
		v := r[c.Name]
		if v == nil && c.Required {
			v = usual(c)
		}
		if v != nil {
			line[c.Name] = fmt.Sprint(v)
		}
	}
	return line
}

// fromText returns SQL for a column's value from its text.
func fromText(c schema.Column) string {
	if c.Type == schema.Timestamp {
		return fmt.Sprintf("make_timestamptz(CAST(\"%s\" AS BIGINT) * 1000)", c.Name)
	}
	return fmt.Sprintf("CAST(\"%s\" AS %s)", c.Name, c.Type.DuckDB())
}

func usual(c schema.Column) any {
	switch c.Name {
	case "transcript_state":
		return "present"
	case "settlement":
		return "settled"
	case "source":
		return "v3"
	}
	if c.Type == schema.Text || c.Type == schema.Word {
		return c.Name
	}
	return int64(0)
}

func contains(in []string, s string) bool {
	for _, x := range in {
		if x == s {
			return true
		}
	}
	return false
}

func lower(p *int64, v int64) *int64 {
	if p == nil || v < *p {
		return &v
	}
	return p
}

func higher(p *int64, v int64) *int64 {
	if p == nil || v > *p {
		return &v
	}
	return p
}
