package analytics_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/test"
)

// Extracted values are shown as sent, and numbers in documents are grouped by value.
func TestNumbersAsSent(t *testing.T) {
	var d analyticstest.Data
	for i, c := range []struct{ sent, text string }{
		{`315.00`, "315.00"}, {`0.333333333333333333`, "0.333333333333333333"}, {`1e2`, "1e2"}, {`12345678901234567890123`, "12345678901234567890123"},
		{`"315.00"`, "315.00"}, {`"\uD55C"`, "한"}, {`{"a": 1.0}`, `{"a": 1.0}`}, {`null`, ""},
	} {
		d.Items = append(d.Items, row{"call_id": "c", "position": int64(i), "name": fmt.Sprint(i), "value": c.sent, "text": c.text})
	}
	for i, n := range []string{"1", "1.0", "1.00", "1.5", "1.50", `"1.0"`, "-0.0", "0", "1e2", "100", "100.0"} {
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(i), "metadata": `{"n":` + n + `}`})
	}
	w := warehouse(t, d, nil)
	rows, err := w.SQL(t.Context(), "SELECT value_text FROM analysis_items ORDER BY position")
	for i, line := range all(t, rows, err) {
		if want := d.Items[i]["text"]; line[0] != want && (line[0] != nil || want != "") {
			t.Errorf("%s is shown as %v, want %v", d.Items[i]["value"], line[0], want)
		}
	}
	rows, err = w.Report(t.Context(), "volume", question.Params{By: "metadata.n"})
	got := map[string]int64{}
	for _, line := range all(t, rows, err) {
		got[line[0].(string)] += line[3].(int64)
	}
	want := map[string]int64{"1": 3, "1.5": 2, "1.0": 1, "0": 2, "100": 3} // the string 1.0 is not a number
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the groups are %v, want %v", got, want)
	}
}

// Numbers are read as programs spell them, exactly or not at all.
func TestNumbersAreReadExactly(t *testing.T) {
	sums := map[string]string{ // by the value sent; empty: it is not read
		"-12.5": "-12.5", "0.50": "0.5", "125e1": "1250", "1e-05": "0.00001", "1.5E-06": "0.0000015", "9999.999999999e+9": "9999999999999",
		"9999999999999.999999999999999999": "9999999999999.999999999999999999",
		"10000000000000":                   "", "0.1234567890123456789": "", "1e12": "", "1e-18": "", "10000e1": "", `"+7"`: "",
	}
	var d analyticstest.Data
	for sent := range sums {
		d.Calls = append(d.Calls, row{"call_id": sent, "start_at": int64(0)})
		d.Items = append(d.Items, row{"call_id": sent, "position": int64(0), "name": sent, "type": "number", "value": sent})
	}
	w := warehouse(t, d, nil)
	rows, err := w.Report(t.Context(), "numbers", question.Params{})
	test.OK(t, err)
	at := map[string]int{}
	for i, c := range rows.Columns() {
		at[c.Name] = i
	}
	n := 0
	for _, line := range all(t, rows, nil) {
		want, isRead := sums[line[at["field"]].(string)], line[at["numbers"]].(int64) == 1
		got := fmt.Sprint(line[at["total"]])
		exact := func(text string) *big.Rat { v, _ := new(big.Rat).SetString(text); return v }
		if n++; isRead != (want != "") || isRead && exact(got).Cmp(exact(want)) != 0 {
			t.Errorf("%s: read %v, sum %v, want %q", line[at["field"]], isRead, got, want)
		}
	}
	if n != len(sums) {
		t.Errorf("%d of %d fields", n, len(sums))
	}
}

// A tool result sent as an object, which no text column holds, counts as its JSON.
func TestToolResultAsObject(t *testing.T) {
	d := analyticstest.Data{Calls: []row{{"call_id": "c", "start_at": int64(0)}}}
	for i, r := range []row{
		{"role": "tool_call_invocation", "tool_call_id": "1", "tool_name": "find"},
		{"role": "tool_call_result", "tool_call_id": "1", "extra": `{"content":{"status":"error"}}`},
		{"role": "tool_call_invocation", "tool_call_id": "2", "tool_name": "find"},
		{"role": "tool_call_result", "tool_call_id": "2", "extra": `{"content":{"status":"ok"},"more":1}`},
	} {
		r["call_id"], r["turn"], r["call_start_at"] = "c", int64(i), int64(0)
		d.Turns = append(d.Turns, r)
	}
	w := warehouse(t, d, nil)
	rows, err := w.SQL(t.Context(), "SELECT result, failed FROM tool_calls ORDER BY turn")
	if d := diff([][]any{{`{"status":"error"}`, true}, {`{"status":"ok"}`, false}}, all(t, rows, err)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	rows, err = w.Report(t.Context(), "call", question.Params{Call: "c"})
	if got := fmt.Sprint(all(t, rows, err)); !strings.Contains(got, `✗ {"status":"error"}`) || !strings.Contains(got, `← {"status":"ok"}`) {
		t.Errorf("the conversation is %s", got)
	}
}
