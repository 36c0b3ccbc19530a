package serve_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/serve/pgcatalog"
)

// many returns calls of five months, more than a copy holds, two of each time, and some without a
// time.
func many() (d analyticstest.Data) {
	for i := range 2300 {
		at := int64(1_700_000_000_000) + int64(i/460)*31*86_400_000 + int64(i/2)*1_000
		c := row{"call_id": fmt.Sprintf("c%04d", 2299-i), "agent_id": fmt.Sprintf("a%d", i%3), "start_at": at, "duration_ms": int64(i * 7), "status": []string{"ended", "error", "not_connected"}[i%3],
			"total_cost": fmt.Sprintf("%d.25", i%9), "metadata": fmt.Sprintf(`{"n": [%d, "é"]}`, i), "from_number": "+4930123456", "disconnection_reason": []string{"user_hangup", "voicemail_reached"}[i%2],
			"user_turns": int64(i % 2), "transcript_state": "present", "settlement": "settled", "summary": fmt.Sprintf("it's %d", i)}
		if i%700 == 5 {
			delete(c, "start_at")
		}
		d.Calls = append(d.Calls, c)
		if i%2 == 0 {
			d.Turns = append(d.Turns, row{"call_id": c["call_id"], "turn": int64(i % 5), "role": "agent", "content": fmt.Sprint("turn ", i), "call_start_at": at})
		}
	}
	d.Others = map[*schema.Table][]row{resource.Agents.Table: {{"agent_id": "a0", "name": "Sales"}, {"agent_id": "a1", "name": "Agency's"}}}
	return d
}

// led are statements that copies of rows may answer. V is a view, T its time column.
var led = []string{
	"SELECT * FROM V LIMIT 100", "SELECT * FROM V OFFSET 1990 LIMIT 58", "SELECT x.* FROM public.V AS x FETCH FIRST 3 ROWS ONLY", "SELECT call_id::text AS call, 5, V.call_id FROM V LIMIT 2048",
	"SELECT * FROM (SELECT * FROM V) AS t LIMIT 20", "SELECT call_id FROM (SELECT T, call_id FROM (SELECT * FROM V) AS a) AS b ORDER BY T DESC, call_id LIMIT 50",
	"SELECT * FROM V ORDER BY T DESC, call_id LIMIT 100", "SELECT * FROM V ORDER BY T DESC NULLS LAST, V.call_id DESC LIMIT 30 OFFSET 2000", "SELECT call_id, T FROM V ORDER BY T DESC NULLS LAST, call_id LIMIT 1",
	"WITH x AS (SELECT * FROM V LIMIT 7) SELECT count(*), min(call_id) FROM x", "SELECT (SELECT call_id FROM V LIMIT 1) AS c, (SELECT count(*) FROM V) AS n",
}

var viewRE, timeRE = regexp.MustCompile(`\bV\b`), regexp.MustCompile(`\bT\b`)

// notLed are similar, but need rows outside a copy.
var notLed = []string{
	"SELECT call_id FROM V LIMIT 2049", "SELECT * FROM V LIMIT 2 OFFSET 2047", "SELECT count(*) FROM V LIMIT 5", "SELECT DISTINCT call_id FROM V ORDER BY 1 LIMIT 5", "SELECT call_id FROM V WHERE call_id > 'c0022' ORDER BY 1 LIMIT 5",
	"SELECT call_id FROM V ORDER BY T, call_id LIMIT 5", "SELECT call_id, row_number() OVER (ORDER BY call_id) AS n FROM V LIMIT 3", "SELECT min(call_id) AS m FROM V GROUP BY call_id ORDER BY 1 LIMIT 3",
	"SELECT call_id, agent AS T FROM (SELECT call_id, md5(call_id) AS agent FROM V) AS x ORDER BY T DESC LIMIT 5", "SELECT call_id AS T FROM V ORDER BY T DESC LIMIT 5", "SELECT *, T FROM V ORDER BY 2 DESC, 1 LIMIT 5",
	"SELECT T AS end_at FROM V ORDER BY V.call_id DESC LIMIT 5", "SELECT u FROM (SELECT call_id AS T, T AS u FROM V) AS x ORDER BY T DESC LIMIT 5", "SELECT n FROM (SELECT call_id, T FROM V) AS x(T, n) ORDER BY T DESC LIMIT 3",
	"SELECT a.call_id FROM V a JOIN V b USING (call_id) ORDER BY 1 DESC LIMIT 4", "SELECT call_id FROM (SELECT * FROM V ORDER BY call_id DESC) AS x LIMIT 3", "WITH V AS (SELECT 'mine' AS call_id) SELECT * FROM V LIMIT 3",
	"SELECT call_id FROM (SELECT * FROM V UNION ALL SELECT * FROM V) AS x ORDER BY 1 DESC LIMIT 3", "SELECT unnest(ARRAY[1, 2]) AS u, count(*) OVER () AS n FROM V LIMIT 3", "SELECT rowid FROM V LIMIT 1",
}

// Statements of a few rows have the same answers from copies as from the files, for every user, in
// every zone, and after a commit.
func TestCopies(t *testing.T) {
	longtest.Only(t)
	allowed := map[string]rights.Rights{"somebody": {}, "agency": {Agents: []string{"a1"}}, "masked": {Masked: []string{"from_number", "calls.metadata"}}, "some": {Tables: []string{"calls"}}}
	h, plain := start(t, limit(allowed)), start(t, limit(allowed))
	plain.houses.Root = h.root
	plain.houses.Open = func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, h.root, analytics.Options{Options: opened.Options{Location: zone, Threads: 1, Safe: &opened.Limits{Memory: 256 << 20, Temp: 1 << 20}, Dialect: pgcatalog.Dialect(r), Rights: r}})
	}
	analyticstest.Write(t, h.root, 2, many())
	run := 0
	answer := func(c *pgx.Conn, sql string) string {
		run++ // makes a new text, whose answer is not cached
		results, err := c.PgConn().Exec(t.Context(), fmt.Sprintf("%s -- %d", sql, run)).ReadAll()
		out := fmt.Sprint(code(err))
		for _, r := range results {
			for _, f := range r.FieldDescriptions {
				out += fmt.Sprint(" ", f.Name, f.DataTypeOID, f.TypeModifier)
			}
			for _, cells := range r.Rows {
				out += fmt.Sprintf("\n%q", cells)
			}
		}
		return out
	}
	type ask struct {
		user, sql string
		isLed     bool
	}
	var asks []ask
	users, rnd := []string{"agency", "masked", "some"}, longtest.Rand(t)
	for view, at := range map[string]string{"calls": "start_at", "costs": "start_at", "transcript_turns": "call_start_at"} {
		for i, sql := range slices.Concat(led, notLed) {
			for _, user := range []string{"somebody", users[rnd.IntN(len(users))]} {
				asks = append(asks, ask{user, timeRE.ReplaceAllString(viewRE.ReplaceAllString(sql, view), at), i < len(led)-1 && (user != "some" || view == "calls")})
			}
		}
	}
	for _, id := range []string{"c0000", "c2294", "c1234", "c2299", "none", "it''s"} {
		for i, sql := range []string{"SELECT * FROM calls WHERE call_id = 'X'", "SELECT outcome FROM calls AS c WHERE status <> 'x' AND 'X' = c.call_id", "SELECT * FROM costs WHERE call_id = 'X' LIMIT 1",
			"SELECT count(*), (SELECT count(*) FROM calls) FROM calls WHERE call_id = 'X' OR call_id = 'c0007'"} {
			for _, user := range []string{"somebody", users[rnd.IntN(len(users))]} {
				asks = append(asks, ask{user, strings.ReplaceAll(sql, "'X'", "'"+id+"'"), i < 3 && user == "somebody"})
			}
		}
	}
	readers, plainly := map[string]*pgx.Conn{}, map[string]*pgx.Conn{}
	for user := range allowed {
		readers[user], plainly[user] = h.connectAs(t, user), plain.connectAs(t, user)
	}
	for _, c := range []*pgx.Conn{readers["somebody"], plainly["somebody"]} {
		if _, err := c.Exec(t.Context(), "SET TIME ZONE 'Asia/Seoul'"); err != nil {
			t.Fatal(err)
		}
	}
	compare := func(snapshot int) {
		want := make([]string, len(asks))
		for j, a := range asks {
			if want[j] = answer(plainly[a.user], a.sql); a.isLed && !strings.HasPrefix(want[j], "<nil>") {
				t.Fatalf("%s: %s: %.200s", a.user, a.sql, want[j])
			}
		}
		for i, how := range []string{"first", "again", "from copies", "without files"} {
			for j, a := range asks {
				if got := answer(readers[a.user], a.sql); got != want[j] && (i < 3 || a.isLed) {
					t.Errorf("snapshot %d, %s, %s: %s: %.500s\n, want %.500s", snapshot, a.user, how, a.sql, got, want[j])
				}
			}
			for _, of := range allowed {
				w, giveBack, err := h.houses.Borrow(t.Context(), time.UTC, of)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Copied(); err != nil && i < 3 {
					t.Error(err)
				}
				giveBack()
			}
			if i == 2 {
				remove(t, h.root, func(path string) bool { return strings.Contains(path, fmt.Sprintf("/%06d/", snapshot)) })
			}
		}
	}
	compare(2)
	d := many()
	d.Calls, d.Turns = d.Calls[50:], d.Turns[25:]
	analyticstest.Write(t, h.root, 3, d)
	compare(3)
}
