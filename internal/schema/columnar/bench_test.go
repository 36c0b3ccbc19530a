package columnar

import (
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
	written := map[*schema.Table]*Vectors{}
	for _, t := range schema.CallTables {
		written[t] = NewVectors(t)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		for t, row := range o.Rows() {
			for i, v := range row {
				if !v.IsNull() && t.Columns[i].Type != schema.Bool { // the Parquet writer has these
					written[t].cols[i].putValue(&v)
				}
			}
		}
		for _, v := range written {
			for i := range v.cols {
				v.cols[i].run = 0
				v.cols[i].reset()
			}
		}
	}
}
