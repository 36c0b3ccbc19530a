package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// TestVectors writes calls through vectors, added as calls and as rows, in small
// pages and row groups, one file after the other through the same vectors, and
// reads the rows that AppendCallRow and its like make.
func TestVectors(t *testing.T) {
	t.Parallel()
	used := map[*Table]*Vectors{}
	for _, table := range CallTables {
		used[table] = NewVectors(table)
	}
	month := []byte("2026-11")
	rapid.Check(t, func(t *rapid.T) {
		var want [3][]parquet.Row
		var add [3][]func(*Vectors)
		row := func(table int, row parquet.Row, direct func(*Vectors)) {
			want[table] = append(want[table], row)
			if rapid.Bool().Draw(t, "as a row") {
				direct = func(v *Vectors) { v.AddRow(row) }
			}
			add[table] = append(add[table], direct)
		}
		for n := range rapid.IntRange(0, 40).Draw(t, "calls") {
			var d Decoder
			var call Call
			kind := drawKind(t)
			if err := d.Decode(drawCall(t, kind, 5), kind, &call); err != nil {
				continue
			}
			c := call.Clone()
			c.FirstSeenAt, c.FetchedAt, c.RunID = int64(n), int64(n+1), fmt.Appendf(nil, "run %d", n/7)
			c.Settle(settledAt)
			row(0, AppendCallRow(nil, c, month), func(v *Vectors) { v.AddCall(c, month) })
			for i := range c.Turns {
				row(1, AppendTurnRow(nil, c, i, month), func(v *Vectors) { v.AddTurn(c, i, month) })
			}
			for i := range c.Items {
				row(2, AppendItemRow(nil, c, i, month), func(v *Vectors) { v.AddItem(c, i, month) })
			}
		}
		page, group := rapid.SampledFrom([]int{64, 1 << 10, 1 << 20}).Draw(t, "page"), rapid.IntRange(1, 50).Draw(t, "group")
		for i, table := range CallTables {
			checkVectors(t, used[table], want[i], add[i], page, group)
		}
	})
}

func checkVectors(t *rapid.T, v *Vectors, want []parquet.Row, add []func(*Vectors), page, group int) {
	t.Helper()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[any](&file, v.Schema(), parquet.PageBufferSize(page), parquet.BloomFilters(parquet.SplitBlockFilter(10, "call_id")))
	g := w.BeginRowGroup()
	commit := func() {
		err := v.Settle()
		if err == nil {
			_, err = g.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		v.Begin(g.ColumnWriters())
	}
	v.Begin(g.ColumnWriters())
	for i, do := range add {
		if do(v); i%group == group-1 {
			if v.Bytes() == 0 {
				t.Fatal("rows of no bytes")
			}
			commit()
		}
	}
	commit()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 1)
		for {
			n, err := rows.ReadRows(buf)
			if n == 1 {
				if at == len(want) || !buf[0].Equal(want[at]) {
					t.Fatalf("row %d is %v", at, buf[0])
				}
				at++
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if at != len(want) {
		t.Fatalf("%d rows of %d", at, len(want))
	}
}
