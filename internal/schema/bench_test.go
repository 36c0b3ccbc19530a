package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// observedDetail returns the JSON of a detail shaped as observed, without any
// white space between its tokens, and about 7 KB long.
func observedDetail(t testing.TB) []byte {
	t.Helper()
	var small bytes.Buffer
	if err := json.Compact(&small, payload(t, "v3_detail")); err != nil {
		t.Fatal(err)
	}
	list := []byte(`"transcript":[`)
	at := bytes.Index(small.Bytes(), list) + len(list)
	head, turns := small.Bytes()[:at], bytes.TrimSuffix(small.Bytes()[at:], []byte("]}"))
	body := append([]byte(nil), head...)
	for i := range 8 {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, turns...)
	}
	return append(body, "]}"...)
}

// observed is a call for encoding/json, to compare with.
type observed struct {
	ID    string `json:"id"`
	Agent *struct {
		AgentID      *string `json:"agent_id"`
		AgentVersion *string `json:"agent_version"`
	} `json:"agent"`
	CallType            *string         `json:"call_type"`
	Status              *string         `json:"status"`
	FromNumber          *string         `json:"from_number"`
	ToNumber            *string         `json:"to_number"`
	PresentationNumber  *string         `json:"presentation_number"`
	DisconnectionReason *string         `json:"disconnection_reason"`
	StartAt             *int64          `json:"start_at"`
	EndAt               *int64          `json:"end_at"`
	RecordingURL        *string         `json:"recording_url"`
	Metadata            json.RawMessage `json:"metadata"`
	DynamicVariables    json.RawMessage `json:"dynamic_variables"`
	CallAnalysis        *struct {
		Summary       *string `json:"summary"`
		UserSentiment *string `json:"user_sentiment"`
		Items         []struct {
			Type  *string         `json:"type"`
			Name  *string         `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"custom_analysis_data"`
	} `json:"call_analysis"`
	CallCost *struct {
		TotalCost *string `json:"total_cost"`
	} `json:"call_cost"`
	VariantLabel *string `json:"variant_label"`
	OptOut       *bool   `json:"opt_out_sensitive_data_storage"`
	Transcript   []struct {
		Role       *string         `json:"role"`
		Content    *string         `json:"content"`
		StartAt    *int64          `json:"start_at"`
		EndAt      *int64          `json:"end_at"`
		ToolCallID *string         `json:"tool_call_id"`
		Name       *string         `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
	} `json:"transcript"`
}

func BenchmarkDecode(b *testing.B) {
	compact := func(name string) []byte {
		var small bytes.Buffer
		if err := json.Compact(&small, payload(b, name)); err != nil {
			b.Fatal(err)
		}
		return small.Bytes()
	}
	for _, bc := range []struct {
		name string
		body []byte
		kind Kind
	}{
		{"detail", observedDetail(b), KindDetail},
		{"item", compact("v3_item"), KindItem},
		{"v2", compact("v2_item"), KindItem},
		{"drift", compact("v3_detail_wrong_types"), KindDetail},
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
	body := observedDetail(b)
	b.Run("encoding_json", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var c observed
			if err := json.Unmarshal(body, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	body := observedDetail(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Redact(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	body := observedDetail(b)
	c := decoded(b, body, KindDetail)
	written := map[*Table]*Vectors{}
	for _, t := range CallTables {
		written[t] = NewVectors(t)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		c.Complete()
		for t, row := range c.Rows() {
			for i, v := range row {
				if !v.IsNull() && t.Columns[i].Type != Bool { // the Parquet writer has these
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

func BenchmarkMerge(b *testing.B) {
	detail := decoded(b, observedDetail(b), KindDetail)
	for _, name := range []string{"v3_item", "v3_item_thin"} {
		b.Run(name, func(b *testing.B) {
			body := payload(b, name)
			var d Decoder
			var c Call
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Decode(body, KindItem, &c); err != nil {
					b.Fatal(err)
				}
				Merge(detail, &c, KindItem)
			}
		})
	}
}
