package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

func BenchmarkDecode(b *testing.B) {
	compact := func(name string) []byte {
		var small bytes.Buffer
		test.OK(b, json.Compact(&small, wiretest.Payload(b, name)))
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
				test.OK(b, d.Decode(bc.body, bc.kind, &c))
			}
		})
	}
	body := wiretest.ObservedDetail(b)
	b.Run("encoding_json", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var c wiretest.Observed
			test.OK(b, json.Unmarshal(body, &c))
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	body := wiretest.ObservedDetail(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		_, _, err := wire.Redact(schema.CallResource, body)
		test.OK(b, err)
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
				test.OK(b, d.Decode(body, schema.KindItem, &c))
				Merge(detail, &c, schema.KindItem)
			}
		})
	}
}
