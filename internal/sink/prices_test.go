package sink

import (
	"context"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
)

// prices are costs that a service may send, by the call's id. The column holds those of its range
// exactly; the others fit no column.
var prices = map[string]string{
	"p-cents":    `{"total_cost":"0.05"}`,
	"p-five":     `{"total_cost":"0.04213"}`,
	"p-seven":    `{"total_cost":"0.1234567"}`,
	"p-number":   `{"total_cost":0.1234567}`,
	"p-float":    `{"total_cost":0.30000000000000004}`,
	"p-back":     `{"total_cost":"-1.00001"}`,
	"p-whole":    `{"total_cost":"150.00"}`,
	"p-short":    `{"total_cost":150}`,
	"p-tiny":     `{"total_cost":"0.00000000000000000001"}`,
	"p-huge":     `{"total_cost":"12345678901234567890"}`,
	"p-words":    `{"total_cost":"five cents"}`,
	"p-no-cost":  `"five cents"`,
	"p-unknown":  `null`,
	"p-credits":  `{"total_credits_used":1.23456789,"duration_seconds":61.480000000000004}`,
	"p-credits4": `{"total_credits_used":12.5,"duration_seconds":61.2}`,
}

// priced returns records of calls with these prices: the same on two days of October, which become
// one file, and on a day of November.
func priced() (recs []schema.Record) {
	for id, cost := range prices {
		for month, days := range map[string]int{"10": -30, "10b": -31, "11": 0} {
			start := testDay.AddDate(0, 0, days).UnixMilli()
			id := id + "-" + month
			recs = append(recs, schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: start + 5, Body: fmt.Appendf(nil,
				`{"id":%q,"agent":{"agent_id":"a","agent_version":"v1"},"call_type":"phone","status":"ended","from_number":"1","to_number":"2",`+
					`"presentation_number":null,"disconnection_reason":"user_hangup","start_at":%d,"end_at":%d,"recording_url":null,"metadata":{},`+
					`"dynamic_variables":{},"call_analysis":{"summary":"s","user_sentiment":"positive","custom_analysis_data":[]},"call_cost":%s,`+
					`"variant_label":null,"opt_out_sensitive_data_storage":false,"transcript":[{"role":"user","content":"hi","start_at":1,"end_at":2}]}`,
				id, start, start+60_000, cost)})
		}
	}
	return recs
}

// A run stores prices exactly; those that fit no column are counted.
func TestPrices(t *testing.T) {
	w := night(t, nil, filepath.Join(t.TempDir(), "w"), 0)
	test.OK(t, w.Put(context.Background(), priced()...))
	test.OK(t, w.Commit(t.Context(), doneRow(w)))
	checkPrices(t, w.Snapshot())
}

// checkPrices compares the columns of the priced calls with their JSON.
func checkPrices(t *testing.T, s *layout.Snapshot) {
	t.Helper()
	unheld := map[string]bool{}
	for id, call := range readCalls(t, anywhere, s) {
		name := id[:strings.LastIndexByte(id, '-')]
		bare := call.Copy()
		bare.Row[schema.Calls.Column("extra")] = parquet.Value{}
		if lost := wiretest.Lost(t, &schema.Calls, fmt.Appendf(nil, `{"call_cost":%s}`, prices[name]), bare.AppendJSON(nil), call.Text("extra")); len(lost) > 0 {
			t.Errorf("%s is there as %s with extra %s, without %s", id, bare.AppendJSON(nil), call.Text("extra"), lost)
		}
		if unheld[name] = call.CostUnheld(); unheld[name] || !strings.Contains(prices[name], "total_cost") {
			continue
		}
		total := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(prices[name], `{"total_cost":`), "}"), `"`)
		want := rational(total)
		cost := call.Row[schema.Calls.Column("total_cost")]
		if got := schema.AppendExact(nil, cost, 0); cost.IsNull() || want.Cmp(rational(string(got))) != 0 {
			t.Errorf("%s: the column holds %s, %s was sent", id, got, total)
		}
	}
	want := map[string]bool{"p-tiny": true, "p-huge": true, "p-words": true, "p-no-cost": true}
	var counted int64
	for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
		counted += f.UnheldCosts
	}
	for name := range prices {
		test.Same(t, want[name], unheld[name], "%s is not held", name)
	}
	if n := int64(3 * len(want)); counted != n {
		t.Errorf("the manifest counts %d costs that are not held, want %d", counted, n)
	}
}

func rational(text string) *big.Rat {
	n, _ := new(big.Rat).SetString(text)
	return n
}
