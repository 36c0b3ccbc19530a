package bulk

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// The sample has the documented size: twenty from the first page, and one in five hundred.
func TestSampleOfPages(t *testing.T) {
	b := New(Config{})
	due := make([]calls.Due, 400)
	for i := range due {
		due[i].CallID = string(rune('a' + i))
	}
	compared := func(proven int) (n int) {
		b.compared = proven
		for _, keep := range b.newPage(t.Context(), due, 500).wanted {
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

// cleaning is a store that replaces a word before storing a call.
type cleaning struct{ Store }

func (cleaning) Clean(_ *[]byte, body []byte) ([]byte, bool, error) {
	return bytes.ReplaceAll(body, []byte("hello"), []byte("*****")), true, nil
}

// v2 is not blamed for differences with other causes: the transcript may still come, the caller has
// opted out since, the record has none, or the store removed text.
func TestDifferences(t *testing.T) {
	const end = 1795089660000
	decode := func(body []byte, kind schema.Kind, look func(*calls.Call)) error {
		call := new(calls.Call)
		err := new(calls.Decoder).Decode(body, kind, call)
		look(call)
		return err
	}
	transcript := func(words ...string) string {
		var turns []string
		for _, w := range words {
			turns = append(turns, `{"role":"user","content":"`+w+`"}`)
		}
		return "[" + strings.Join(turns, ",") + "]"
	}
	for _, c := range []struct {
		name            string
		v2, v3          string
		age             time.Duration
		stored, cleaned bool
		differ, blamed  bool
	}{
		{"the same", transcript("hello"), `"transcript":` + transcript("hello"), time.Hour, false, false, false, true},
		{"another text, too early", transcript("hello"), `"transcript":` + transcript("bye"), time.Hour, false, false, true, false},
		{"another text", transcript("hello"), `"transcript":` + transcript("bye"), 3 * time.Hour, false, false, true, true},
		{"another text than the stored one", transcript("hello"), `"transcript":` + transcript("bye"), 3 * time.Hour, true, false, true, true},
		{"none when v2 had one", transcript("hello"), `"transcript":null`, 3 * time.Hour, false, false, true, true},
		{"none any more", transcript("hello"), `"transcript":null`, 3 * time.Hour, true, false, true, false},
		{"opted out since", transcript("hello"), `"transcript":null,"opt_out_sensitive_data_storage":true`, 3 * time.Hour, false, false, true, false},
		{"nobody spoke, says v2", "[]", `"transcript":` + transcript("hello"), 3 * time.Hour, true, false, true, true},
		{"stored clean", transcript("*****"), `"transcript":` + transcript("hello"), 3 * time.Hour, true, true, false, true},
		{"stored unclean", transcript("hello"), `"transcript":` + transcript("hello"), 3 * time.Hour, true, true, true, true}, // v2 is requested again
		{"just come", transcript("hello"), `"transcript":` + transcript("hello"), 3 * time.Hour, false, true, false, true},
	} {
		b := New(Config{Now: func() int64 { return end + c.age.Milliseconds() }, Decode: decode})
		if c.cleaned {
			b.Store = cleaning{}
		}
		call := func(text string, kind schema.Kind) (out *calls.Call, rec schema.Record) {
			rec = schema.Record{Kind: kind, CallID: "a", Body: []byte(text)}
			if err := decode(rec.Body, kind, func(call *calls.Call) { out = call.Clone() }); err != nil {
				t.Fatal(err)
			}
			return out, rec
		}
		v2, _ := call(fmt.Sprintf(`{"call_id":"a","status":"ended","end_timestamp":%d,"transcript_with_tool_calls":%s}`, end, c.v2), schema.KindBulk)
		v3, rec := call(fmt.Sprintf(`{"id":"a","status":"ended","end_at":%d,%s}`, end, c.v3), schema.KindDetail)
		found, compared, err := b.differences(v2, v3, rec, c.stored)
		if err != nil || len(found) > 0 != c.differ || compared != c.blamed {
			t.Errorf("%s: %v, compared: %v, %v", c.name, found, compared, err)
		}
	}
}
