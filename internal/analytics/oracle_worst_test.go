package analytics_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// worstOf returns the calls to listen to: those with a transcript, except if the caller never spoke
// to the agent.
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
	number := func(v any) int64 { // no number sorts last
		if n, ok := v.(int64); ok {
			return n
		}
		return -1 << 62
	}
	weights := map[string]int{"negative": 100, "failed": 10, "tool failed": 1}
	suffered := func(h heardCall) (sum int) {
		for _, mark := range h.marks {
			sum += weights[mark]
		}
		return sum
	}
	happy := func(h heardCall) int { return strings.Count(fmt.Sprint(h.row["user_sentiment"]), "positive") }
	slices.SortFunc(calls, func(a, b heardCall) int {
		return cmp.Or(cmp.Compare(suffered(b), suffered(a)), cmp.Compare(happy(a), happy(b)), cmp.Compare(b.failed, a.failed),
			cmp.Compare(number(b.row["duration_ms"]), number(a.row["duration_ms"])), cmp.Compare(number(b.row["start_at"]), number(a.row["start_at"])),
			strings.Compare(a.row["call_id"].(string), b.row["call_id"].(string)))
	})
	shown, of := map[any]bool{}, map[string]int{}
	for _, h := range calls { // ten for each first mark, then any others
		if of[h.marks[0]]++; of[h.marks[0]] <= 10 && len(shown) < 20 {
			shown[h.row["call_id"]] = true
		}
	}
	for _, h := range calls {
		if len(shown) < 20 {
			shown[h.row["call_id"]] = true
		}
	}
	calls = slices.DeleteFunc(calls, func(h heardCall) bool { return !shown[h.row["call_id"]] })
	for _, h := range calls {
		o, _ := outcomeOf(h.row)
		out = append(out, []any{g.key, h.row["call_id"], strings.Join(h.marks, ", "), h.row["start_at"], h.row["agent_id"], h.row["duration_ms"], h.row["user_sentiment"], o, h.failed})
	}
	return out
}

// marked returns the calls of a group that have any mark.
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
