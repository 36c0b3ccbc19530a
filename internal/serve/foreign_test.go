package serve_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callhouse/internal/test"
)

// foreign makes a Postgres read the tables through postgres_fdw, which uses our estimates.
func foreign(t *testing.T, address, there string) (out []asked) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), there)
	test.OK(t, err)
	defer c.Close(context.Background())
	texts(t, c, "CREATE DATABASE readers")
	host, port, err := net.SplitHostPort(address)
	test.OK(t, err)
	readers, err := pgx.Connect(t.Context(), strings.TrimSuffix(there, "callhouse")+"readers")
	test.OK(t, err)
	defer readers.Close(context.Background())
	for _, do := range []string{
		"CREATE EXTENSION postgres_fdw",
		"CREATE SERVER house FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" + host + "', port '" + port + "', dbname 'callhouse', use_remote_estimate 'true', fetch_size '2')",
		"CREATE USER MAPPING FOR callhouse SERVER house OPTIONS (user 'callhouse')",
		"IMPORT FOREIGN SCHEMA public FROM SERVER house INTO public",
		"ANALYZE calls",
	} {
		texts(t, readers, do)
	}
	for _, sql := range []string{
		"SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'",
		"SELECT call_id, start_at, duration_ms, total_cost FROM calls WHERE duration_ms > 5 ORDER BY 1",
		"SELECT c.call_id, t.role FROM calls c JOIN transcript_turns t USING (call_id) ORDER BY 1, 2",
		"SELECT status, count(*), sum(duration_ms) FROM calls GROUP BY 1 ORDER BY 1",
		"SELECT call_id, duration_ms FROM calls ORDER BY duration_ms DESC LIMIT 2",
	} {
		out = append(out, asked{client: "postgres_fdw with remote estimates", title: sql, here: strings.Join(texts(t, readers, sql), ", "), there: strings.Join(texts(t, c, sql), ", ")})
	}
	if plan := texts(t, readers, "EXPLAIN (VERBOSE) SELECT call_id FROM calls WHERE duration_ms > 600"); !slices.ContainsFunc(plan, func(line string) bool { return strings.Contains(line, "WHERE ((duration_ms > 600))") }) {
		t.Errorf("a condition stays behind: %q", plan)
	}
	return out
}
