package mask

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/calls"
	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

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
	for range 400 {
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
		once, _, err := rd.Apply(new([]byte), []byte(body))
		if err != nil || !json.Valid(once) {
			t.Fatalf("%s became %s, %v", body, once, err)
		}
		if twice, _, err := rd.Apply(new([]byte), once); err != nil || !bytes.Equal(once, twice) {
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

// What a service finds is replaced, and the digits beside it are searched again.
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
	if got, _, err := rd.Apply(new([]byte), []byte(body)); err != nil || string(got) != want {
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
