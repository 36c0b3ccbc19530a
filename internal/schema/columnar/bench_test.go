package columnar

import (
	"io"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

func BenchmarkRows(b *testing.B) {
	body := wiretest.ObservedDetail(b)
	o, err := decodeWhole(b, new(wire.Decoder), body, schema.KindDetail, 0)
	if err != nil {
		b.Fatal(err)
	}
	written := map[*schema.Table]*Writer{}
	for _, t := range schema.CallTables {
		written[t] = NewWriter(t, formOf(t))
		written[t].Begin(io.Discard, 1<<20)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		for t, row := range o.Rows() {
			for i, v := range row {
				if !v.IsNull() {
					written[t].cols[i].putValue(&v)
				}
			}
		}
		for _, w := range written {
			w.begin()
		}
	}
}
