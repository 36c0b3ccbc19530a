package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// A column made of a parameter has its described type in every run, as text and in binary.
func testParameters(t *testing.T, h *testServer) {
	for _, x := range []struct {
		sql          string
		declared     []uint32
		values       []string
		params, oids []uint32
		rows         string
	}{
		{"SELECT $1 AS label, call_id FROM calls ORDER BY 2", nil, []string{"abcd"}, []uint32{25}, []uint32{25, 25}, "abcd,c0|abcd,c1"},
		{"SELECT $1", []uint32{25}, []string{"abcd"}, []uint32{25}, []uint32{25}, "abcd"},
		{"SELECT $1", []uint32{20}, []string{"7"}, []uint32{20}, []uint32{20}, "7"},
		{"SELECT $1, min($2), $3 || status FROM calls GROUP BY status", nil, []string{"a", "b", "c"}, []uint32{25, 25, 25}, []uint32{25, 25, 25}, "a,b,cended"},
		{"SELECT CASE WHEN call_id = $1 THEN $2 END FROM calls WHERE call_id = 'c0'", nil, []string{"c0", "abcd"}, []uint32{25, 25}, []uint32{25}, "abcd"},
		{"SELECT nullif($1, 'x'), coalesce($2, $3)", nil, []string{"abcd", "e", "f"}, []uint32{25, 25, 25}, []uint32{25, 25}, "abcd,e"},
		{"SELECT $1 UNION ALL SELECT 'x'", nil, []string{"abcd"}, []uint32{25}, []uint32{25}, "abcd|x"},
		{"SELECT 1 + $1, coalesce(start_at, $2) FROM calls LIMIT $3", nil, []string{"5", "2026-01-01 00:00:00+00", "1"}, []uint32{23, 1184, 20}, []uint32{23, 1184}, "6,2025-10-09 08:53:20+00"},
		{"SELECT generate_subscripts(indkey, $1) FROM pg_index WHERE indrelid = 'transcript_turns'::regclass", nil, []string{"1"}, []uint32{23}, []uint32{23}, "0|1"},
		{"SELECT a FROM (SELECT $1 AS a) AS x", nil, []string{"abcd"}, []uint32{25}, []uint32{25}, "abcd"},
		{"SELECT count(*) FROM transcript_turns WHERE turn = ANY($1)", nil, []string{"{0,1}"}, []uint32{1007}, []uint32{20}, "1"},
	} {
		c := h.connect(t, "").PgConn()
		s, err := c.Prepare(t.Context(), "s", x.sql, x.declared)
		if err != nil {
			t.Errorf("%s: %v", x.sql, err)
			continue
		}
		var oids []uint32
		for _, f := range s.Fields {
			oids = append(oids, f.DataTypeOID)
		}
		if !slices.Equal(s.ParamOIDs, x.params) || !slices.Equal(oids, x.oids) {
			t.Errorf("%s: parameters of types %v and columns of types %v, want %v and %v", x.sql, s.ParamOIDs, oids, x.params, x.oids)
		}
		var values [][]byte
		for _, v := range x.values {
			values = append(values, []byte(v))
		}
		for _, run := range longtest.Some(5, []int{0, 1, 2, 3, 4, 5}) {
			answer := c.ExecPrepared(t.Context(), "s", values, nil, []int16{int16(run / 5)}).Read()
			if got := rowsIn(answer.Rows, oids, int16(run/5)); answer.Err != nil || got != x.rows {
				t.Errorf("%s, run %d: %q, %v, want %q", x.sql, run, got, answer.Err, x.rows)
			}
			for i, f := range answer.FieldDescriptions {
				if f.DataTypeOID != oids[i] {
					t.Errorf("%s, run %d: a column of type %d was described as %d", x.sql, run, f.DataTypeOID, oids[i])
				}
			}
		}
	}
}

// A value sent in binary is the one sent as text.
func testBinaryParameters(t *testing.T, h *testServer) {
	c, types := h.connect(t, "").PgConn(), pgtype.NewMap()
	for name, texts := range longtest.Sorted(map[string][]string{
		"bool": {"t", "f"}, "int2": {"-32768"}, "int4": {"-2147483648"}, "int8": {"-9223372036854775808"}, "float8": {"0.1", "Infinity"},
		"numeric": {"12.50", "-0.0001", "0", "123456789012345678901.5"},
		"date":    {"2026-01-02", "1969-12-31"}, "time": {"23:59:59.999999"}, "timestamp": {"2026-01-02 03:04:05.123456", "1969-12-31 23:59:59.5"},
		"timestamptz": {"2026-01-02 03:04:05.123456+00"}, "interval": {"1 mon 2 days 03:04:05.5", "-1 mons -2 days -03:04:05.5"},
		"uuid": {"123e4567-e89b-12d3-a456-426614174000"}, "_int4": {"{1,2,NULL}", "{}"}, "_text": {`{a,"b c",NULL,"x\"y\\","null"}`},
		"_numeric": {"{1.50,2.00}"}, "_timestamp": {`{"2026-01-02 03:04:05"}`},
	}, 2) {
		of, _ := types.TypeForName(name)
		for _, text := range texts {
			v, err := of.Codec.DecodeValue(types, of.OID, pgtype.TextFormatCode, []byte(text))
			test.OK(t, err)
			raw, err := types.Encode(of.OID, pgtype.BinaryFormatCode, v, nil)
			test.OK(t, err)
			element, isArray := strings.CutPrefix(name, "_")
			cast := "SELECT ($1::" + element + map[bool]string{true: "[]"}[isArray] + ")::text"
			ask := func(raw []byte, format int16) (string, error) {
				answer := c.ExecParams(t.Context(), cast, [][]byte{raw}, []uint32{of.OID}, []int16{format}, nil).Read()
				return rowsIn(answer.Rows, []uint32{0}, pgtype.TextFormatCode), answer.Err
			}
			want, err := ask([]byte(text), pgtype.TextFormatCode)
			if err != nil {
				t.Errorf("%s %s: %v", name, text, err)
			}
			if got, err := ask(raw, pgtype.BinaryFormatCode); got != want || err != nil {
				t.Errorf("%s %s in binary is %q, %v, want %q", name, text, got, err, want)
			}
			if _, err := ask(raw[:max(len(raw)-1, 0)], pgtype.BinaryFormatCode); code(err) != "22P02" {
				t.Errorf("%s %s without its last byte: %v", name, text, err)
			}
		}
	}
	if answer := c.ExecParams(t.Context(), "SELECT $1::bytea", [][]byte{[]byte(`\x00`)}, nil, nil, nil).Read(); code(answer.Err) != "22P02" {
		t.Errorf("bytes as a parameter: %v", answer.Err)
	}
}

// rowsIn returns rows received in a format as text.
func rowsIn(rows [][][]byte, oids []uint32, format int16) string {
	var out []string
	for _, row := range rows {
		var cells []string
		for i, raw := range row {
			text := string(raw)
			if kind, ok := pgtype.NewMap().TypeForOID(oids[i]); ok && format == pgtype.BinaryFormatCode {
				v, err := kind.Codec.DecodeValue(pgtype.NewMap(), oids[i], format, raw)
				if text = fmt.Sprint(v); err != nil {
					text = err.Error()
				} else if at, ok := v.(time.Time); ok {
					text = at.UTC().Format("2006-01-02 15:04:05-07")
				}
			}
			cells = append(cells, text)
		}
		out = append(out, strings.Join(cells, ","))
	}
	return strings.Join(out, "|")
}

// Binary COPY sends a message for each row, the first with the header, and one for the trailer:
// many readers parse the messages rather than the stream.
func testCopyMessages(t *testing.T, h *testServer) {
	for sql, rows := range map[string]int{"COPY (SELECT 1 AS a FROM calls) TO STDOUT (FORMAT binary)": 2, "COPY (SELECT 1 AS a WHERE false) TO STDOUT WITH BINARY": 0} {
		const row, end = "\x00\x01\x00\x00\x00\x04\x00\x00\x00\x01", "\xff\xff"
		want := [][]byte{}
		for range rows {
			want = append(want, []byte(row))
		}
		want = append(want, []byte(end))
		want[0] = append([]byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"), want[0]...)
		front := h.connect(t, "").PgConn().Frontend()
		front.SendQuery(&pgproto3.Query{String: sql})
		test.OK(t, front.Flush())
		var got [][]byte
		for done := false; !done; {
			m, err := front.Receive()
			test.OK(t, err)
			switch m := m.(type) {
			case *pgproto3.CopyData:
				got = append(got, bytes.Clone(m.Data))
			case *pgproto3.ErrorResponse:
				t.Errorf("%s: %s", sql, m.Message)
			case *pgproto3.ReadyForQuery:
				done = true
			}
		}
		if !bytes.Equal(bytes.Join(got, []byte("|")), bytes.Join(want, []byte("|"))) {
			t.Errorf("%s: messages %q, want %q", sql, got, want)
		}
	}
}

// A plan is one text.
func testPlan(t *testing.T, h *testServer) {
	c := h.connect(t, "")
	r := c.PgConn().ExecParams(t.Context(), "EXPLAIN SELECT call_id FROM calls WHERE duration_ms > $1", [][]byte{[]byte("5")}, nil, nil, nil).Read()
	if r.Err != nil || len(r.FieldDescriptions) != 1 || r.FieldDescriptions[0].Name != "QUERY PLAN" || len(r.Rows) != 1 {
		t.Fatalf("%v, %v, %d rows", r.Err, r.FieldDescriptions, len(r.Rows))
	}
	if got := texts(t, c, "EXPLAIN (FORMAT json) SELECT 1"); len(got) != 1 || !strings.HasPrefix(got[0], "[") {
		t.Errorf("as JSON: %q", got)
	}
}

// foreign makes a Postgres read the tables through postgres_fdw.
func foreign(t *testing.T, address, there string) (out []comparison) {
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
		"CREATE SERVER house FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" + host + "', port '" + port + "', dbname 'callhouse', fetch_size '2')",
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
		out = append(out, comparison{client: "postgres_fdw", title: sql, here: strings.Join(texts(t, readers, sql), ", "), there: strings.Join(texts(t, c, sql), ", ")})
	}
	if plan := texts(t, readers, "EXPLAIN (VERBOSE) SELECT call_id FROM calls WHERE duration_ms > 600"); !slices.ContainsFunc(plan, func(line string) bool { return strings.Contains(line, "WHERE ((duration_ms > 600))") }) {
		t.Errorf("a condition stays behind: %q", plan)
	}
	return out
}
