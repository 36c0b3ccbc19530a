package web_test

import (
	"regexp"
	"strings"
	"testing"
)

// A call is shown as a conversation: results are next to their tools, silences and interruptions
// are visible, the agent has its name, and the caller's other calls are linked.
func TestConversation(t *testing.T) {
	d := company(9)
	number := func(i int) { d.Calls[i]["direction"], d.Calls[i]["from_number"] = "inbound", "+821055550001" }
	number(0)
	number(3)
	number(6)
	id, at := d.Calls[3]["call_id"], d.Calls[3]["start_at"].(int64)
	add := func(turn int64, role, text string, from, to int64, more row) {
		r := row{"call_id": id, "turn": turn, "role": role, "content": text, "call_start_at": at}
		if to > 0 {
			r["start_at"], r["end_at"] = at+from, at+to
		}
		for k, v := range more {
			r[k] = v
		}
		d.Turns = append(d.Turns, r)
	}
	d.Turns = nil
	add(0, "agent", "Hello", 1_000, 4_000, nil)
	add(1, "user", "Wait", 3_000, 5_000, nil)
	add(2, "tool_call_invocation", "", 0, 0, row{"tool_call_id": "t", "tool_name": "book", "arguments": `{"day":1}`})
	add(3, "tool_call_result", "error: refused", 0, 0, row{"tool_call_id": "t"})
	add(4, "agent", "Sorry", 8_500, 9_000, nil)
	s := serverOf(t, d, nil)
	body := s.must("/calls/" + id.(string))
	for _, want := range []string{`<li class="said-user"><small>Caller 3.0s · interrupts</small><br/>Wait</li>`, `<li class="pause">silence of 3.5s</li>`,
		`<summary>book <b class="bad">failed</b></summary><p>→ <code>{&#34;day&#34;:1}</code></p><p>← <code>error: refused</code></p>`,
		">Clara &lt;b&gt;bold&lt;/b&gt;</a>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the call lacks %s in\n%s", want, body)
		}
	}
	others := regexp.MustCompile(`<a href="/calls/0000000(\d)[^"]*">(earlier|later): `).FindAllStringSubmatch(body, -1)
	if len(others) != 2 || others[0][1]+others[0][2] != "0earlier" || others[1][1]+others[1][2] != "6later" {
		t.Errorf("the caller's other calls are %q", others)
	}
	link := regexp.MustCompile(`<dd><a href="(/\?agent=[^"]*)">`).FindStringSubmatch(body)
	if link == nil || !strings.Contains(s.must(link[1]+"&since=2024-11-01&until=2024-11-10"), `id="edits"`) {
		t.Errorf("the agent leads nowhere: %q", link)
	}
}
