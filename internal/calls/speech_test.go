package calls

import (
	"fmt"
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// No time that follows from a transcript is negative, whatever its turns say. A turn that ends
// before it starts is drift, and 0 long: so the other turns count as without it.
func TestNoNegativeTimes(t *testing.T) {
	const start = 1_790_000_000_000
	turn := func(role string, from, to any) string {
		return fmt.Sprintf(`{"role":%q,"content":"x","start_at":%v,"end_at":%v}`, role, from, to)
	}
	tool := func(role string, from any) string {
		return fmt.Sprintf(`{"role":"tool_call_%s","tool_call_id":"t","tool_name":"n","start_at":%v,"end_at":null}`, role, from)
	}
	user := turn("user", start+1000, start+3000)
	for name, c := range map[string]struct {
		turns                     string
		drift                     int
		spoken, agent, user, tool string
		response                  string
	}{
		"backwards agent": {user + "," + turn("agent", start+4000, start+3500), 1, "2", "0", "2000", "", "[1000]"},
		"backwards user":  {turn("user", start+9000, start+8000) + "," + turn("agent", start+9500, start+9700), 1, "2", "200", "0", "", "[500]"},
		"both backwards":  {turn("user", start+9, start+8) + "," + turn("agent", start+7, start+6), 2, "2", "0", "0", "", ""},
		"end 0":           {user + "," + turn("agent", start+4000, 0), 1, "2", "0", "2000", "", "[1000]"},
		"start far ahead": {user + "," + turn("agent", 4*start, start+4000), 1, "2", "0", "2000", "", fmt.Sprintf("[%d]", int64(4*start-start-3000))},
		"end long ago":    {user + "," + turn("agent", start+4000, 1), 1, "2", "0", "2000", "", "[1000]"},
		"no time":         {user + "," + turn("agent", start+5, start+5), 0, "2", "0", "2000", "", ""},
		"no end":          {user + "," + turn("agent", start+4000, "null"), 0, "1", "0", "2000", "", ""},
		"no start":        {user + "," + turn("agent", "null", start+4000), 0, "1", "0", "2000", "", ""},
		"before the call": {turn("agent", start-5000, start-4000), 0, "1", "1000", "0", "", ""},
		"since it began":  {turn("user", 1, 2) + "," + turn("agent", 3, 5), 0, "2", "2", "1", "", "[1]"},
		"result before":   {tool("invocation", start+50) + "," + tool("result", start+40), 0, "0", "0", "0", "0", ""},
		"backwards result": {tool("invocation", start+50) + `,{"role":"tool_call_result","tool_call_id":"t","start_at":` +
			fmt.Sprint(start+60) + `,"end_at":` + fmt.Sprint(start+40) + `}`, 1, "0", "0", "0", "0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			var call Call
			body := fmt.Appendf(nil, `{"id":"a","status":"ended","start_at":%d,"end_at":%d,"transcript":[%s]}`, start, start+10000, c.turns)
			test.OK(t, d.Decode(body, schema.KindDetail, &call))
			drift := 0
			for _, at := range d.Drift {
				if at.Path == "transcript[].end_at" {
					drift += at.Count
				}
			}
			if drift != c.drift {
				t.Errorf("drift is %v", d.Drift)
			}
			var rows ToolRows
			call.Complete(rows.Of(&call))
			of := func(column string) string {
				switch v := call.Row[schema.Calls.Column(column)]; {
				case v.IsNull():
					return ""
				default:
					return v.String()
				}
			}
			for column, want := range map[string]string{"spoken_turns": c.spoken, "agent_talk_ms": c.agent, "user_talk_ms": c.user, "response_ms": c.response} {
				if got := of(column); got != want {
					t.Errorf("%s is %q, want %q", column, got, want)
				}
			}
			for _, column := range []string{"agent_talk_ms", "user_talk_ms", "longest_silence_ms"} {
				if v := call.Row[schema.Calls.Column(column)]; !v.IsNull() && v.Int64() < 0 {
					t.Errorf("%s is %v", column, v)
				}
			}
			err := rows.Each(&call, func(row schema.Row) error {
				if v := row[schema.ToolCalls.Column("duration_ms")]; v.String() != c.tool {
					t.Errorf("the tool takes %v", v)
				}
				return nil
			})
			test.OK(t, err)
		})
	}
}
