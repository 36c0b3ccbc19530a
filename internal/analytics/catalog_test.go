package analytics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// stock is a DuckDB as any other program opens it: without anything of callhouse, and with its own time zone.
func stock(t *testing.T) *duck.Conn {
	t.Helper()
	conn := connect(t)
	test.OK(t, conn.Exec(t.Context(), "SET TimeZone = 'America/New_York'"))
	return conn
}

// texts returns rows as text, one per line.
func texts(t *testing.T, next func(context.Context) ([]any, error)) string {
	t.Helper()
	var b strings.Builder
	for {
		row, err := next(t.Context())
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		test.OK(t, err)
		for _, v := range row {
			if at, ok := v.(time.Time); ok {
				v = at.UTC()
			}
			fmt.Fprintf(&b, "%v|", v)
		}
		b.WriteByte('\n')
	}
}

// IsCatalog distinguishes a catalog from a user's own database.
func TestIsCatalog(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{})
	snap, err := layout.Current(root)
	test.OK(t, err)
	made, other, text := filepath.Join(dir, "a.duckdb"), filepath.Join(dir, "b.duckdb"), filepath.Join(dir, "c.duckdb")
	test.OK(t, database.WriteCatalog(t.Context(), snap, time.UTC, made))
	test.OK(t, stock(t).Exec(t.Context(), "ATTACH '"+other+"' AS o; CREATE VIEW o.snapshot AS SELECT 1; CREATE VIEW o.mine AS SELECT 1; DETACH o"))
	test.OK(t, os.WriteFile(text, []byte("not a database, for sure"), 0o644))
	for path, want := range map[string]string{made: "true <nil>", other: "false <nil>", text: "false io error"} {
		ok, err := database.IsCatalog(t.Context(), path)
		if got := fmt.Sprint(ok, " ", err); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	// An existing file is not overwritten.
	if err := database.WriteCatalog(t.Context(), snap, time.UTC, other); err == nil {
		t.Error("a catalog was made in somebody's database")
	}
}

// The statements that engines of a lake run over the stored tables give the columns of the view calls, and the figures of
// the reports: of calls with any words, states, durations and agents, and of few.
func TestStatementsOfTheLake(t *testing.T) {
	longtest.Only(t)
	r := longtest.Rand(t)
	d := randomData(r, 100)
	organisation(r, &d)
	pick := func(of []any) any { return of[r.IntN(len(of))] }
	for i := range 6_000 {
		c := row{"call_id": fmt.Sprint("made", i), "status": pick(append(allStatuses, "ended", "ended", "error", "")), "disconnection_reason": pick(append(allReasons, "user_hangup", "agent_hangup")),
			"transcript_state": pick(append(allStates, "changed", "skipped", "unreadable", "present")), "settlement": pick([]any{"open", "ended", "settled", "expired"}),
			"user_turns": pick([]any{nil, int64(0), int64(2)}), "duration_ms": pick([]any{nil, int64(4_000), int64(9_999), int64(10_000), int64(10_000 + i)}),
			"user_sentiment": pick([]any{nil, "negative", "positive", "neutral", "elated"}), "agent_id": d.Calls[r.IntN(100)]["agent_id"],
			"start_at": pick([]any{nil, int64(1_790_000_000_000) + int64(i)*60_000}), "call_type": pick([]any{nil, "inbound", "outbound", "web", "other"}),
			"direction": pick([]any{nil, nil, "inbound"})}
		if i < 70 {
			c["agent_id"] = []string{"few", "some", "more"}[min(2, i/15)] // fewer than 20 calls, 15 to 20 connected ones, or more
		}
		d.Calls = append(d.Calls, c)
	}
	d.Compacted = byMonth
	w := warehouse(t, d, nil)
	lake := func(name, calls, order string) (names []string, got [][]any) {
		rows, err := w.SQL(t.Context(), strings.Replace(string(test.Read(t, "../../examples/lake/"+name+".sql")), "WITH",
			"WITH calls AS ("+calls+"), agents AS (FROM stored.agents),", 1)+order)
		test.OK(t, err)
		for _, c := range rows.Columns() {
			names = append(names, c.Name)
		}
		return names, all(t, rows, nil)
	}
	names, got := lake("calls_reported", "FROM stored.calls", " ORDER BY call_id")
	test.NoDiff(t, diff(sqlOf(t, w, "SELECT "+strings.Join(names, ", ")+" FROM calls ORDER BY call_id"), got), "(-want +got)")
	for _, report := range []string{"disconnections", "durations", "sentiment"} {
		for _, agent := range []string{"", "some", "few", "more"} {
			calls := "FROM stored.calls"
			if agent != "" {
				calls += " WHERE agent_id = '" + agent + "'"
			}
			names, got := lake(report, calls, "")
			rows, err := askFor(t.Context(), w, report, question.Params{Agent: agent})
			test.OK(t, err)
			var want [][]any
			columns := rows.Columns()
			for _, line := range all(t, rows, nil) {
				var of []any
				for _, name := range names {
					of = append(of, line[slices.IndexFunc(columns, func(c value.Column) bool { return c.Name == name })])
				}
				want = append(want, of)
			}
			test.NoDiff(t, diff(want, got), "%s of %q (-report +lake)", report, agent)
		}
	}
}
