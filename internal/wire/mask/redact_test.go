package mask

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

func redactorOf(t testing.TB) *Redactor {
	r, err := NewRedactor(personal.Options{Kinds: kinds.All, Countries: []string{"KR", "US"},
		Patterns: []personal.Pattern{{Kind: "member", Re: regexp.MustCompile(`\bMB-\d{5}\b`)}}})
	test.OK(t, err)
	return r
}

const card = "4111-1111-1111-1111"

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want string }{
		{"a turn", `{"transcript":[{"role":"user","content":"it's ` + card + `, ok","start_at":1701122345678}]}`,
			`{"transcript":[{"role":"user","content":"it's [card], ok","start_at":1701122345678}]}`},
		{"several turns", `{"transcript":[{"role":"user","content":"공일공이요"},{"role":"agent","content":"네"},{"role":"tool_call_result","tool_call_id":"c","content":"ok"},` +
			`{"role":"user","content":"일이삼사 오육칠팔"}]}`,
			`{"transcript":[{"role":"user","content":"[phone]이요"},{"role":"agent","content":"네"},{"role":"tool_call_result","tool_call_id":"c","content":"ok"},` +
				`{"role":"user","content":"[phone]"}]}`},
		{"what the agent asked", `{"transcript":[{"role":"agent","content":"생년월일이요?"},{"role":"user","content":"920315"}]}`,
			`{"transcript":[{"role":"agent","content":"생년월일이요?"},{"role":"user","content":"[dob]"}]}`},
		{"arguments", `{"transcript":[{"role":"tool_call_invocation","tool_call_id":"920315","name":"birth","arguments":{"birth_date":"920315","n":920315}}]}`,
			`{"transcript":[{"role":"tool_call_invocation","tool_call_id":"920315","name":"birth","arguments":{"birth_date":"[dob]","n":920315}}]}`},
		{"a result that is JSON", `{"transcript":[{"role":"tool_call_result","content":"{\"card\": 4111111111111111,\"a\":\"\\u0031 MB-12345\"}"}]}`,
			`{"transcript":[{"role":"tool_call_result","content":"{\"card\": \"[card]\",\"a\":\"\\u0031 [member]\"}"}]}`},
		{"JSON in JSON in JSON", `{"transcript":[{"role":"tool_call_result","content":"{\"a\":\"{\\\"n\\\":4111111111111111,\\\"b\\\":\\\"[4111111111111111]\\\"}\"}"}]}`,
			`{"transcript":[{"role":"tool_call_result","content":"{\"a\":\"{\\\"n\\\":\u005cu0022[card]\u005cu0022,\\\"b\\\":\\\"[\u005cu005cu0022[card]\u005cu005cu0022]\\\"}\"}"}]}`},
		{"an item that comes twice, with more than speech", `{"transcript":[{"role":"user","content":"ok","note":"` + card + `"},{"role":"user","content":"` + card + `"}],` +
			`"transcript_with_tool_calls":[{"role":"user","content":"ok","note":"` + card + `"},{"role":"tool_call_result","content":"ok"},{"role":"user","content":"` + card + `"}]}`,
			`{"transcript":[{"role":"user","content":"ok","note":"[card]"},{"role":"user","content":"[card]"}],` +
				`"transcript_with_tool_calls":[{"role":"user","content":"ok","note":"[card]"},{"role":"tool_call_result","content":"ok"},{"role":"user","content":"[card]"}]}`},
		{"summary and items", `{"call_analysis":{"summary":"mail a@b.com","custom_analysis_data":[{"type":"string","name":"birth date","value":"1992-03-15"},{"name":"x","value":"1992-03-15"}]}}`,
			`{"call_analysis":{"summary":"mail [email]","custom_analysis_data":[{"type":"string","name":"birth date","value":"[dob]"},{"name":"x","value":"1992-03-15"}]}}`},
		{"metadata and variables", `{"metadata":{"contact":{"phone":"01012345678"},"n":[4111111111111111]},"dynamic_variables":{"account_no":1234567890123}}`,
			`{"metadata":{"contact":{"phone":"[phone]"},"n":["[card]"]},"dynamic_variables":{"account_no":"[account]"}}`},
		{"a name after space", `{"metadata":{ "name":"birth date", "value":"1992-03-15"}}`, `{"metadata":{ "name":"birth date", "value":"[dob]"}}`},
		{"an unknown field", `{"new":{"mail":"A@b.com"}}`, `{"new":{"mail":"[email]"}}`},
		{"what stays", `{"id":"4111111111111111","from_number":"01012345678","to_number":"+821012345678","call_from":"01012345678",` +
			`"recording_url":"https://x/4111111111111111","status":"ended","start_at":1701122345678}`, ""},
		{"escapes", `{"metadata":{"a":"\u00e9 \"x\" \ud83d\ude00 ` + card + ` \ud800 \u0041 ` + card + `\n"}}`,
			`{"metadata":{"a":"\u00e9 \"x\" \ud83d\ude00 [card] \ud800 \u0041 [card]\n"}}`},
		{"escaped digits", `{"metadata":{"a":"\u0034111 1111 1111 1111."}}`, `{"metadata":{"a":"[card]."}}`},
		{"JSON that is cut off", `{"metadata":{"a":"{\"a\":\"MB-12345"}}`, `{"metadata":{"a":"{\"a\":\"[member]"}}`},
		{"nothing", ` { "metadata" : {"order":"2024031512"} } `, ""},
	} {
		if c.want == "" {
			c.want = c.body
		}
		got, changed, err := redactorOf(t).Apply(new([]byte), []byte(c.body))
		if err != nil || string(got) != c.want || changed != (c.want != c.body) {
			t.Errorf("%s: %v %v\n got %s\nwant %s", c.name, changed, err, got, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s: no JSON: %s", c.name, got)
		}
		if again, changed, err := redactorOf(t).Apply(new([]byte), got); changed || err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: redacted twice: %s, %v", c.name, again, err)
		}
	}
}

// Every spelling is counted; a conversation that v2 sends twice only once.
func TestRedactCounts(t *testing.T) {
	t.Parallel()
	r := redactorOf(t)
	for _, text := range []string{card, "4111 1111 1111 1111", "사일일일 일일일일 일일일일 일일일일"} {
		body, _ := json.Marshal(map[string]any{"metadata": map[string]string{"x": text}})
		if got, _, err := r.Apply(new([]byte), body); err != nil || string(got) != `{"metadata":{"x":"[card]"}}` {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	turn := `{"role":"user","content":"it is a@b.com"}`
	if _, changed, err := r.Apply(new([]byte), []byte(`{"call_id":"a","transcript":[`+turn+`],"transcript_with_tool_calls":[`+turn+`]}`)); !changed || err != nil {
		t.Error(err)
	}
	if n := r.Counts()["email"]; n != 1 {
		t.Errorf("%d addresses counted, not 1", n)
	}
	if n := r.Counts()["card"]; n != 3 {
		t.Errorf("%d cards counted, not 3", n)
	}
}

// For any call, the redacted JSON is valid and decodes like the original, contains nothing planted,
// is unchanged if there is nothing to redact, and its rows are redacted alike.
func TestRedactedCalls(t *testing.T) {
	t.Parallel()
	r := redactorOf(t)
	rapid.Check(t, func(t *rapid.T) {
		kind := wiretest.DrawKind(t)
		raw := wiretest.DrawCall(t, kind, 40)
		var body map[string]any
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&body); err != nil {
			t.Skip("no object")
		}
		body["metadata"] = map[string]any{"a": card, "b": []any{map[string]any{"c": "x 4111 1111 1111 1111"}}, "d": json.Number("4111111111111111")}
		raw, err := json.Marshal(body)
		test.OK(t, err)
		clean, changed, err := r.Apply(new([]byte), raw)
		if err != nil || !changed || bytes.Contains(clean, []byte("4111111111111111")) || bytes.Contains(clean, []byte("4111 1111")) {
			t.Fatalf("redacted: %s, %v", clean, err)
		}
		if !json.Valid(clean) {
			t.Fatalf("no JSON: %s", clean)
		}
		var d, plainDecoder calls.Decoder
		var c, plain calls.Call
		perr := plainDecoder.Decode(raw, kind, &plain)
		if err := d.Decode(clean, kind, &c); (err == nil) != (perr == nil) {
			t.Fatalf("decoded redacted: %v, plain: %v", err, perr)
		}
		if perr != nil {
			return
		}
		r.Object(&plain.Object)
		if r.Object(&c.Object) {
			t.Fatalf("the rows of a redacted call hold more: %s", clean)
		}
		c.Rows()
		plain.Rows()
		if diff := cmp.Diff(string(plain.Text("metadata")), string(c.Text("metadata"))); diff != "" {
			t.Fatalf("rows and JSON are redacted differently: %s", diff)
		}
	})
}

// Anything but an object is refused, as by Redact.
func TestRedactHostile(t *testing.T) {
	t.Parallel()
	r := redactorOf(t)
	for _, body := range wiretest.Hostile {
		_, _, merr := r.Apply(new([]byte), []byte(body))
		_, _, rerr := wire.Redact(schema.CallResource, []byte(body))
		if (merr == nil) != (rerr == nil) {
			t.Errorf("%.60q: redacted %v, withheld %v", body, merr, rerr)
		}
	}
}
