package analytics_test

import (
	"cmp"
	"slices"
	"strings"
)

// worstOf are the calls to listen to: with a transcript, and not one in which
// nobody spoke to the agent.
func worstOf(g *group, turns map[any][]row) (out [][]any) {
	type heardCall struct {
		row
		marks  []string
		failed int64
	}
	var calls []heardCall
	for _, c := range marked(g, turns) {
		h := heardCall{row: c}
		if c["user_sentiment"] == "negative" {
			h.marks = append(h.marks, "negative")
		}
		if outcomeIs(c, "failed") {
			h.marks = append(h.marks, "failed")
		}
		if h.failed = failedUses(turns[c["call_id"]]); h.failed > 0 {
			h.marks = append(h.marks, "tool failed")
		}
		calls = append(calls, h)
	}
	number := func(v any) int64 { // no number comes last
		if n, ok := v.(int64); ok {
			return n
		}
		return -1 << 62
	}
	slices.SortFunc(calls, func(a, b heardCall) int {
		return cmp.Or(cmp.Compare(len(b.marks), len(a.marks)), cmp.Compare(b.failed, a.failed), cmp.Compare(number(b.row["duration_ms"]), number(a.row["duration_ms"])),
			cmp.Compare(number(b.row["start_at"]), number(a.row["start_at"])), strings.Compare(a.row["call_id"].(string), b.row["call_id"].(string)))
	})
	for _, h := range calls[:min(len(calls), 20)] {
		o, _ := outcomeOf(h.row)
		out = append(out, []any{g.key, h.row["call_id"], strings.Join(h.marks, ", "), h.row["start_at"], h.row["agent_id"], h.row["duration_ms"], h.row["user_sentiment"], o, h.failed})
	}
	return out
}

// marked are the calls of a group that have a mark at all.
func marked(g *group, turns map[any][]row) (out []row) {
	for _, c := range g.calls {
		silent := linked(c) == "no" || reasonIs(c, "voicemail_reached") || heard(c) == "no"
		if c["transcript_state"] == "present" && !silent &&
			(c["user_sentiment"] == "negative" || outcomeIs(c, "failed") || failedUses(turns[c["call_id"]]) > 0) {
			out = append(out, c)
		}
	}
	return out
}

func failedUses(turns []row) (n int64) {
	for _, u := range usesOf(turns) {
		if u.answered && failed(u.content) {
			n++
		}
	}
	return n
}
