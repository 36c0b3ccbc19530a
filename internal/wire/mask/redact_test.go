package mask

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/longtest"
	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/schema"
	"callhouse/internal/test"
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
		got, changed, err := redactorOf(t).Apply([]byte(c.body))
		if err != nil || string(got) != c.want || changed != (c.want != c.body) {
			t.Errorf("%s: %v %v\n got %s\nwant %s", c.name, changed, err, got, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s: no JSON: %s", c.name, got)
		}
		if again, changed, err := redactorOf(t).Apply(got); changed || err != nil || !bytes.Equal(again, got) {
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
		if got, _, err := r.Apply(body); err != nil || string(got) != `{"metadata":{"x":"[card]"}}` {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	turn := `{"role":"user","content":"it is a@b.com"}`
	if _, changed, err := r.Apply([]byte(`{"call_id":"a","transcript":[` + turn + `],"transcript_with_tool_calls":[` + turn + `]}`)); !changed || err != nil {
		t.Error(err)
	}
	test.Same(t, 1, r.Counts()["email"], "addresses")
	test.Same(t, 3, r.Counts()["card"], "cards")
}

// For any call, the redacted JSON is valid and decodes like the original, contains nothing planted,
// is unchanged if there is nothing to redact, and its rows are redacted alike.
func TestRedactedCalls(t *testing.T) {
	t.Parallel()
	r := redactorOf(t)
	rapid.Check(t, func(t *rapid.T) {
		kind, body := drawn(t)
		body["metadata"] = map[string]any{"a": card, "b": []any{map[string]any{"c": "x 4111 1111 1111 1111"}}, "d": json.Number("4111111111111111")}
		clean, c, plain := cleaned(t, kind, body, r.Apply)
		if bytes.Contains(clean, []byte("4111111111111111")) || bytes.Contains(clean, []byte("4111 1111")) {
			t.Fatalf("redacted: %s", clean)
		}
		if c == nil {
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

// pieces of random texts of calls.
var pieces = strings.Split("4111 1111 1111 1111|010-1234-5678|공일공 일이삼사 오육칠팔|four one five, five five five, two six seven one|minji at example dot com|"+
	"Minji.Kim@example.com|DE89 3704 0044 0532 0130 00|생년월일|birth_date|1992-03-15|March 15 1992|920315|계좌|110-123-45678901|여권|M12345678|MB-12345|kim|10.0.0.1|"+
	"order|네|이요|[|]|{|}|\"|:|,|\n|\\|[card]|[note]|[member:abcdefghijklmnop]|1234|5678|+82|서울-98-123456-01|120-81-47521|골뱅이 네이버 닷컴|card", "|")

// A redacted call, redacted again, stays as it is, and so do its rows.
func TestRedactedCallsStay(t *testing.T) {
	t.Parallel()
	const seed = 20261118
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	text := func() string {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(pieces[r.IntN(len(pieces))] + []string{"", " ", " ", "-", ", "}[r.IntN(5)])
		}
		return b.String()
	}
	bodies := []string{
		// JSON only once the card is replaced: its line break must be escaped in JSON.
		`{"id":"x","metadata":{"a":"{\"account\":[\"order pending\",\"12345678901\"],\"c\":\"4111-1111-\n1111-1111\"}"}}`,
		`{"id":"x","transcript":[{"role":"user","content":"{\"account\":[\"order pending\",\"12345678901\"],\"c\":\"4111-1111-\n1111-1111\"}"}]}`,
		`{"id":"x","metadata":{"a":{"name":"4111-1111-1111-1111생년월일","value":"1992-03-15"}}}`,
	}
	for range map[bool]int{true: 400, false: 120}[longtest.On()] {
		inner, _ := json.Marshal(map[string]any{text(): text(), "b": []any{text(), 1234567890123}})
		turns := []any{map[string]any{"role": "tool_call_result", "tool_call_id": "c", "content": string(inner)},
			map[string]any{"role": "tool_call_result", "tool_call_id": "d", "content": `{"a":"` + text() + `"` + text() + `}`}}
		for range r.IntN(4) {
			turns = append(turns, map[string]any{"role": []string{"agent", "user"}[r.IntN(2)], "content": text(), "start_at": 1, "end_at": 2})
		}
		body, err := json.Marshal(map[string]any{"id": "x", "new": text(), "transcript": turns,
			"metadata": map[string]any{text(): text(), "birth_date": text(), "n": json.Number("920315"), "v": map[string]any{"name": text(), "value": text()}},
			"call_analysis": map[string]any{"summary": text(), "custom_analysis_data": []any{
				map[string]any{"type": "string", "name": text(), "value": text()}}}})
		test.OK(t, err)
		bodies = append(bodies, string(body))
	}
	rd, err := NewRedactor(personal.Options{Kinds: kinds.All, Countries: []string{"KR", "US"}, Patterns: []personal.Pattern{
		{Kind: "member", Re: regexp.MustCompile(`\bMB-\d{5}\b`)}, {Kind: "rest", Re: regexp.MustCompile(`kim.*`)},
		{Kind: "word", Re: regexp.MustCompile(`card|rest`)}, {Kind: "whole", Re: regexp.MustCompile(`^\d{4}$`)}}})
	test.OK(t, err)
	for _, body := range bodies {
		once, _, err := rd.Apply([]byte(body))
		if err != nil || !json.Valid(once) {
			t.Fatalf("%s became %s, %v", body, once, err)
		}
		if twice, _, err := rd.Apply(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s\nbecame %s\nand then %s, %v", body, once, twice, err)
		}
		var d calls.Decoder
		var stored, plain calls.Call
		test.OK(t, d.Decode(once, schema.KindDetail, &stored))
		if rd.Object(&stored.Object) {
			t.Errorf("the rows of %s hold more", once)
		}
		test.OK(t, d.Decode([]byte(body), schema.KindDetail, &plain))
		if rd.Object(&plain.Object); rd.Object(&plain.Object) {
			t.Errorf("the rows of %s were redacted twice", body)
		}
	}
}

// What a service finds is replaced, and the digits next to it are searched again.
func TestRedactedByAServiceStays(t *testing.T) {
	t.Parallel()
	rd := redactorOf(t)
	rd.Ask(func(texts []string) (out [][]personal.Span, err error) {
		for _, text := range texts {
			var spans []personal.Span
			if at := strings.Index(text, "Kim"); at >= 0 {
				spans = append(spans, personal.Span{From: at, To: at + len("Kim"), Kind: "person"})
			}
			out = append(out, spans)
		}
		return out, nil
	})
	const body = `{"id":"x","metadata":{"a":"Kim010-1234-5678"},"transcript":[{"role":"user","content":"Kim4111 1111 1111 1111"}]}`
	const want = `{"id":"x","metadata":{"a":"[person][phone]"},"transcript":[{"role":"user","content":"[person][card]"}]}`
	if got, _, err := rd.Apply([]byte(body)); err != nil || string(got) != want {
		t.Errorf("became %s, %v", got, err)
	}
	var d calls.Decoder
	var c calls.Call
	test.OK(t, d.Decode([]byte(body), schema.KindDetail, &c))
	rd.Object(&c.Object)
	if got := string(c.Text("metadata")); got != `{"a":"[person][phone]"}` || rd.Object(&c.Object) {
		t.Errorf("the rows became %s", got)
	}
}
