package serve_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/test"
)

// Each statement that ran is one line of the audit; one that was only planned is not.
func testAudit(t *testing.T, h *house) {
	c := h.connect(t, "")
	h.mu.Lock()
	h.audit = nil
	h.mu.Unlock()
	ctx, p := t.Context(), c.PgConn()
	for i := range 3 {
		if _, err := p.Prepare(ctx, fmt.Sprint("s", i), "SELECT call_id FROM calls WHERE call_id = $1", nil); err != nil {
			t.Fatal(err)
		}
	}
	p.ExecPrepared(ctx, "s1", [][]byte{[]byte("c0")}, nil, nil).Read()
	p.ExecPrepared(ctx, "s1", [][]byte{[]byte("c1")}, nil, nil).Read()
	p.ExecPrepared(ctx, "s1", nil, nil, nil).Read()
	_, _ = p.Prepare(ctx, "wrong", "SELECT nothing FROM calls", nil)
	front := p.Frontend() // the first row of two, and then something else
	front.SendParse(&pgproto3.Parse{Query: "SELECT 'some' FROM calls"})
	front.SendBind(&pgproto3.Bind{})
	front.SendExecute(&pgproto3.Execute{MaxRows: 1})
	front.SendSync(&pgproto3.Sync{})
	test.OK(t, front.Flush())
	for {
		m, err := front.Receive()
		test.OK(t, err)
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			break
		}
	}
	texts(t, c, "BEGIN; DECLARE a CURSOR FOR SELECT call_id FROM calls; FETCH 1 FROM a; FETCH ALL FROM a; COMMIT")
	if _, err := c.Exec(ctx, "SELECT 1 FROM calls; SELECT nothing; SELECT 2", pgx.QueryExecModeSimpleProtocol); code(err) != "42703" {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var got []string
	for _, e := range h.audit {
		got = append(got, fmt.Sprintf("%s %d %s", e.Text, e.Rows, e.Code))
	}
	if want := []string{
		"SELECT call_id FROM calls WHERE call_id = $1 1 00000", "SELECT call_id FROM calls WHERE call_id = $1 1 00000", "SELECT call_id FROM calls WHERE call_id = $1 0 08P01", "SELECT nothing FROM calls 0 42703",
		"SELECT 'some' FROM calls 1 00000", "BEGIN 0 00000", "DECLARE a CURSOR FOR SELECT call_id FROM calls 0 00000", "FETCH 1 FROM a /* SELECT call_id FROM calls */ 1 00000",
		"FETCH ALL FROM a /* SELECT call_id FROM calls */ 1 00000", "COMMIT 0 00000", "SELECT 1 FROM calls 2 00000", "SELECT nothing 0 42703",
	}; !slices.Equal(got, want) {
		t.Errorf("the audit is\n%q, want\n%q", got, want)
	}
	if len(h.running) > 0 {
		t.Errorf("statements that never ended: %v", h.running)
	}
}

// A cursor takes parameters, and one prepared statement may declare it repeatedly.
func testCursors(t *testing.T, h *house) {
	c := h.connect(t, "")
	texts(t, c, "BEGIN")
	s, err := c.PgConn().Prepare(t.Context(), "d", "DECLARE a NO SCROLL CURSOR FOR SELECT call_id, $2 AS label FROM calls WHERE call_id >= $1 ORDER BY 1", nil)
	test.OK(t, err)
	if !slices.Equal(s.ParamOIDs, []uint32{25, 25}) || len(s.Fields) > 0 {
		t.Errorf("described as %v, %v", s.ParamOIDs, s.Fields)
	}
	for _, x := range []struct{ from, want string }{{"c0", "c0,x c1,x "}, {"c1", "c1,x "}} {
		if r := c.PgConn().ExecPrepared(t.Context(), "d", [][]byte{[]byte(x.from), []byte("x")}, nil, nil).Read(); r.Err != nil {
			t.Fatal(r.Err)
		}
		got := ""
		for range 3 {
			r := c.PgConn().ExecParams(t.Context(), "FETCH FORWARD 1 FROM a", nil, nil, nil, []int16{1}).Read()
			for _, row := range r.Rows {
				got += fmt.Sprintf("%s,%s ", row[0], row[1])
			}
		}
		if got != x.want {
			t.Errorf("from %s: %q, want %q", x.from, got, x.want)
		}
		texts(t, c, "CLOSE a")
	}
	if _, err := c.Exec(t.Context(), "DECLARE b CURSOR FOR SELECT $1", pgx.QueryExecModeSimpleProtocol); code(err) != "42P02" {
		t.Errorf("a parameter in the simple protocol: %v", err)
	}
}
