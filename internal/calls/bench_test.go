package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

func BenchmarkDecode(b *testing.B) {
	compact := func(name string) []byte {
		var small bytes.Buffer
		if err := json.Compact(&small, wiretest.Payload(b, name)); err != nil {
			b.Fatal(err)
		}
		return small.Bytes()
	}
	for _, bc := range []struct {
		name string
		body []byte
		kind schema.Kind
	}{
		{"detail", wiretest.ObservedDetail(b), schema.KindDetail},
		{"item", compact("v3_item"), schema.KindItem},
		{"v2", compact("v2_item"), schema.KindItem},
		{"drift", compact("v3_detail_wrong_types"), schema.KindDetail},
	} {
		b.Run(fmt.Sprintf("%s/%dB", bc.name, len(bc.body)), func(b *testing.B) {
			var d Decoder
			var c Call
			b.SetBytes(int64(len(bc.body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Decode(bc.body, bc.kind, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	body := wiretest.ObservedDetail(b)
	b.Run("encoding_json", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var c wiretest.Observed
			if err := json.Unmarshal(body, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	body := wiretest.ObservedDetail(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := wire.Redact(schema.CallResource, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	detail := decoded(b, wiretest.ObservedDetail(b), schema.KindDetail)
	for _, name := range []string{"v3_item", "v3_item_thin"} {
		b.Run(name, func(b *testing.B) {
			body := wiretest.Payload(b, name)
			var d Decoder
			var c Call
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Decode(body, schema.KindItem, &c); err != nil {
					b.Fatal(err)
				}
				Merge(detail, &c, schema.KindItem)
			}
		})
	}
}
