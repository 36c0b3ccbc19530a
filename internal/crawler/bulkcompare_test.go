package crawler

import (
	"fmt"
	"math"
	"testing"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// The sample has the documented size: twenty from the first page, and one in five hundred.
func TestSampleOfPages(t *testing.T) {
	b := tester(t, nil, newMemStore(), nil).bulk
	due := make([]calls.Due, 400)
	for i := range due {
		due[i].CallID = string(rune('a' + i))
	}
	compared := func(proven int) (n int) {
		b.compared = proven
		for _, keep := range b.newBulkPage(due, 500).wanted {
			if !keep {
				n++
			}
		}
		return n
	}
	if n := compared(0); n < sampled || n > sampled+12 {
		t.Errorf("%d of the first page are compared", n)
	}
	sum := 0
	for range 1000 {
		sum += compared(sampled)
	}
	want := 1000 * len(due) / oneIn
	if math.Abs(float64(sum-want)) > 6*math.Sqrt(float64(want)) { // once in 10^9
		t.Errorf("%d are compared of 400,000, want about %d", sum, want)
	}
}

// v2 is blamed for a difference unless the transcript may still come, or the caller has opted out
// since.
func TestBlame(t *testing.T) {
	const end = 1795089660000
	decode := func(body string, kind schema.Kind) *calls.Call {
		call := new(calls.Call)
		test.OK(t, new(calls.Decoder).Decode([]byte(body), kind, call))
		return call
	}
	const hello, bye = `[{"role":"user","content":"hello"}]`, `[{"role":"user","content":"bye"}]`
	for _, c := range []struct {
		name                string
		v2, v3              string
		age                 time.Duration
		compared, differing int64
	}{
		{"the same", hello, `"transcript":` + hello, time.Hour, 1, 0},
		{"another text, too early", hello, `"transcript":` + bye, time.Hour, 0, 0},
		{"another text", hello, `"transcript":` + bye, 3 * time.Hour, 1, 1},
		{"none when v2 had one", hello, `"transcript":null`, 3 * time.Hour, 1, 1},
		{"opted out since", hello, `"transcript":null,"opt_out_sensitive_data_storage":true`, 3 * time.Hour, 0, 0},
		{"nobody spoke, according to v2", "[]", `"transcript":` + hello, 3 * time.Hour, 1, 1},
	} {
		v2 := decode(fmt.Sprintf(`{"call_id":"a","status":"ended","end_timestamp":%d,"transcript_with_tool_calls":%s}`, end, c.v2), schema.KindBulk)
		body := fmt.Sprintf(`{"id":"a","status":"ended","end_at":%d,%s}`, end, c.v3)
		rec := schema.Record{Kind: schema.KindDetail, CallID: "a", Body: []byte(body)}
		b := tester(t, nil, newMemStore(), func(cfg *Config) {
			cfg.Now = func() time.Time { return time.UnixMilli(end).Add(c.age) }
		}).bulk
		err := b.judge(t.Context(), v2, decode(body, schema.KindDetail), rec)
		if n := b.Progress().Bulk; err != nil || n.Compared != c.compared || n.Differing != c.differing ||
			(b.state.State == schema.BulkRefuted) != (c.differing > 0) {
			t.Errorf("%s: %v, %+v, %q", c.name, err, n, b.state.State)
		}
	}
}
