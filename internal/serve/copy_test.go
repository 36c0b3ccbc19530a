package serve_test

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/test"
)

// Binary COPY sends a message for each row, the first with the header, and one for the trailer:
// many readers parse the messages rather than the stream.
func testCopyMessages(t *testing.T, h *house) {
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
