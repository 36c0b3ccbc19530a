package analytics_test

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// The words of the service, and their meanings, from its documentation.
var (
	statusMeans = map[string]string{
		"queued": "before", "registered": "before", "initiated": "before", "ringing": "before",
		"ongoing": "on", "ended": "ended", "error": "failed", "canceled": "canceled", "not_connected": "no",
	}
	notConnectedFor = map[string]string{
		"dial_no_answer": "no answer", "dial_busy": "busy or declined", "dial_declined": "busy or declined", "dial_failed": "failed to dial",
		"blocked_number": "blocked", "concurrency_limit_reached": "limit before the call", "hourly_call_limit_reached": "limit before the call",
		"daily_call_limit_reached": "limit before the call",
	}
	connectedFor = map[string][2]string{
		"voicemail_reached": {"voicemail", "answering machine"},
		"call_transfer":     {"transferred", "passed on"}, "operator_hangup": {"transferred", "ended by an operator"},
		"error_voxai": {"failed", "error"}, "flow_error": {"failed", "error"}, "inactivity": {"failed", "time-out"},
		"max_duration_reached": {"failed", "limit in the call"}, "orphaned_no_agent_pickup": {"failed", "no agent picked up"},
		"insufficient_balance": {"failed", "limit in the call"},
		"user_hangup":          {}, "agent_hangup": {},
	}
)

// linked returns whether a call connected: yes, no, or "" if unknown.
func linked(r row) string {
	status, hasStatus := text(r, "status")
	reason, hasReason := text(r, "disconnection_reason")
	means, knownStatus := statusMeans[status]
	_, never := notConnectedFor[reason]
	_, met := connectedFor[reason]
	switch {
	case r["start_at"] == nil, means == "before", means == "canceled", means == "no", never,
		reason == "insufficient_balance" && status != "ended":
		return "no"
	case hasStatus && !knownStatus, hasReason && !met, !hasStatus && !hasReason:
		return ""
	}
	return "yes"
}

func connected(r row) bool { return linked(r) == "yes" }

// heard returns whether the caller said anything: yes, no, or "" if unknown.
func heard(r row) string {
	n, counted := r["user_turns"].(int64)
	switch state := r["transcript_state"]; {
	case n > 0:
		return "yes"
	case state == "empty", state == "present" && counted:
		return "no"
	}
	return ""
}

// outcomeOf returns a call's outcome, and its kind.
func outcomeOf(r row) (outcome, kind string) {
	if r["settlement"] == "open" {
		return "unknown", "not over"
	}
	status, hasStatus := text(r, "status")
	reason, hasReason := text(r, "disconnection_reason")
	if linked(r) == "no" {
		switch {
		case notConnectedFor[reason] != "":
			return "not_connected", notConnectedFor[reason]
		case reason == "insufficient_balance":
			return "not_connected", "limit before the call"
		case status == "canceled":
			return "not_connected", "canceled"
		case status == "not_connected":
			return "not_connected", "not told why"
		}
		return "not_connected", "never started"
	}
	if reason == "voicemail_reached" { // whatever the status
		return "voicemail", "answering machine"
	}
	if hasStatus && statusMeans[status] == "" {
		return "unknown", "status " + status
	}
	ended, known := connectedFor[reason]
	switch {
	case hasReason && !known:
		return "unknown", "reason " + reason
	case ended[0] != "":
		return ended[0], ended[1]
	case status == "error":
		return "failed", "error"
	case status == "ongoing":
		return "unknown", "end not told"
	case !hasReason:
		return "unknown", "no reason"
	}
	ms, timed := r["duration_ms"].(int64)
	switch {
	case heard(r) == "no":
		return "abandoned", "never spoke"
	case reason == "user_hangup" && timed && ms < 10_000:
		return "abandoned", "hung up within 10 s"
	case reason == "agent_hangup" && timed && ms < 10_000:
		return "failed", "agent hung up within 10 s"
	case heard(r) == "yes":
		return "completed", "hang-up"
	}
	return "unknown", map[any]string{"pending": "transcript to come", "withheld": "transcript withheld", "missing": "transcript gone",
		"present": "turns not counted"}[r["transcript_state"]]
}

func outcomeIs(r row, outcome string) bool { o, _ := outcomeOf(r); return o == outcome }

func completed(r row) bool { return outcomeIs(r, "completed") }

// person reports whether a finished call is known to have reached a person.
func person(r row) bool {
	return over(r) && !outcomeIs(r, "not_connected") && !outcomeIs(r, "voicemail")
}

func answered(r row) bool { return person(r) && heard(r) != "" }

func unknownWord(r row) bool {
	status, hasStatus := text(r, "status")
	reason, hasReason := text(r, "disconnection_reason")
	_, met := connectedFor[reason]
	return hasStatus && statusMeans[status] == "" || hasReason && !met && notConnectedFor[reason] == ""
}

// outcomes in the order of the reports.
var outcomes = []string{"completed", "transferred", "abandoned", "failed", "voicemail", "not_connected", "unknown"}

func outcomesOf(g *group) (out [][]any) {
	all := count(g.calls, answered)
	for _, outcome := range outcomes {
		kinds := map[string][]row{}
		for _, r := range g.calls {
			if o, kind := outcomeOf(r); o == outcome {
				kinds[kind] = append(kinds[kind], r)
			}
		}
		var lines [][]any
		for kind, calls := range kinds {
			low, high := wilson(len(calls), len(g.calls))
			line := []any{g.key, outcome, kind, int64(len(calls)), percentOf(len(calls), len(g.calls)), low, high, int64(count(calls, answered)), nil}
			if n := count(calls, answered); n > 0 {
				line[8] = percentOf(n, all)
			}
			lines = append(lines, line)
		}
		sort.Slice(lines, func(i, j int) bool {
			if a, b := lines[i][3].(int64), lines[j][3].(int64); a != b {
				return a > b
			}
			return lines[i][2].(string) < lines[j][2].(string)
		})
		out = append(out, lines...)
	}
	return out
}

func funnelOf(g *group) (out [][]any) {
	// conversed is yes, no, or "" if unknown, like SQL's AND.
	conversed := func(r row) string {
		switch {
		case linked(r) == "no" || reasonIs(r, "voicemail_reached") || heard(r) == "no":
			return "no"
		case linked(r) == "" || heard(r) == "":
			return ""
		}
		return "yes"
	}
	up, whole := count(g.calls, connected), count(g.calls, answered)
	for _, stage := range []struct {
		name string
		n    int
	}{
		{"attempted", len(g.calls)},
		{"connected", up},
		{"conversed", count(g.calls, func(r row) bool { return conversed(r) == "yes" })},
		{"completed", count(g.calls, completed)},
	} {
		line := []any{g.key, stage.name, int64(stage.n), percentOf(stage.n, len(g.calls)), share(stage.n, up), nil, nil, nil}
		switch stage.name {
		case "attempted":
			line[4] = nil
		case "conversed":
			line[7] = int64(count(g.calls, func(r row) bool { return conversed(r) == "" }))
		case "completed":
			line[5], line[6] = share(stage.n, whole), int64(whole)
		}
		out = append(out, line)
	}
	return out
}

// worstOf returns the calls to listen to: those with a transcript, except if the caller never spoke to the agent.
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
		out = append(out, []any{g.key, h.row["call_id"], strings.Join(h.marks, ", "), h.row["start_at"], h.row["agent_id"], h.row["duration_ms"], h.row["user_sentiment"], o, h.failed, h.row["recording_url"]})
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
