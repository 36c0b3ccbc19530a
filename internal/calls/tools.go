package calls

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Positions of the columns of tool calls, and of those of turns that they come from.
var (
	colToolCall, colToolTurn           = schema.ToolCalls.Column("call_id"), schema.ToolCalls.Column("turn")
	colToolID, colToolName             = schema.ToolCalls.Column("tool_call_id"), schema.ToolCalls.Column("tool_name")
	colToolArguments, colToolResult    = schema.ToolCalls.Column("arguments"), schema.ToolCalls.Column("result")
	colToolResultTurn, colToolFailed   = schema.ToolCalls.Column("result_turn"), schema.ToolCalls.Column("failed")
	colToolStart, colToolEnd           = schema.ToolCalls.Column("started_at"), schema.ToolCalls.Column("ended_at")
	colToolDuration, colToolPause      = schema.ToolCalls.Column("duration_ms"), schema.ToolCalls.Column("pause_ms")
	colToolFirst                       = schema.ToolCalls.Column("is_first")
	colToolCallStart, colToolFetched   = schema.ToolCalls.Column("call_start_at"), schema.ToolCalls.Column("fetched_at")
	colTurnToolCallID, colTurnToolName = schema.Turns.Column("tool_call_id"), schema.Turns.Column("tool_name")
	colTurnArguments, colTurnExtra     = schema.Turns.Column("arguments"), schema.Turns.Column("extra")
)

// ToolCall is an invocation of a tool and its result; if a tool_call_id repeats, the n-th
// invocation pairs with the n-th result. The dictionary defines it under tool_calls.
type ToolCall struct {
	invocation, result int // turns; -1: none
	id                 []byte
	failed             bool
}

// turn returns the position of the tool call.
func (t *ToolCall) turn() int {
	if t.invocation < 0 {
		return t.result
	}
	return t.invocation
}

// ToolCalls appends the tool calls of the transcript, in order, to dst.
func (c *Call) ToolCalls(dst []ToolCall) []ToolCall {
	from := len(dst)
	var halves [2][]int // tool calls that lack their invocation, and those that lack their result
	for i := range c.Turns().Len() {
		turn := c.Turns().At(i)
		half, other := 0, 1
		switch string(turn[colTurnRole].ByteArray()) {
		case "tool_call_invocation":
		case "tool_call_result":
			half, other = 1, 0
		default:
			continue
		}
		id, at := schema.TextOf(turn[colTurnToolCallID]), len(dst)
		if j := slices.IndexFunc(halves[half], func(j int) bool { return id != nil && bytes.Equal(dst[j].id, id) }); j >= 0 {
			at = halves[half][j]
			halves[half] = slices.Delete(halves[half], j, j+1)
		} else {
			dst = append(dst, ToolCall{invocation: -1, result: -1, id: id})
			if id != nil {
				halves[other] = append(halves[other], at)
			}
		}
		if half == 0 {
			dst[at].invocation = i
		} else {
			dst[at].result, dst[at].failed = i, IsFailure(toolResult(turn))
		}
	}
	slices.SortFunc(dst[from:], func(a, b ToolCall) int { return cmp.Compare(a.turn(), b.turn()) })
	return dst
}

// ToolRows makes the rows of tool_calls, one call after the other, in memory that is reused.
type ToolRows struct {
	tools       []ToolCall
	until, from []schema.Opt[int64] // by turn: the latest end of speech before it, and the earliest start after it, in ms
	names       map[string]bool     // tools that the call has used before
	row         schema.Row
}

// Of returns the tool calls of a call.
func (r *ToolRows) Of(c *Call) []ToolCall {
	r.tools = c.ToolCalls(r.tools[:0])
	return r.tools
}

// Each visits the rows of the call last passed to Of. A row is valid until visit returns.
func (r *ToolRows) Each(c *Call, visit func(schema.Row) error) error {
	if len(r.tools) == 0 {
		return nil
	}
	r.listen(c)
	clear(r.names)
	for i := range r.tools {
		if err := visit(r.rowOf(c, &r.tools[i])); err != nil {
			return err
		}
	}
	return nil
}

// listen records the speech before and after each turn.
func (r *ToolRows) listen(c *Call) {
	n := c.Turns().Len()
	r.until, r.from = slices.Grow(r.until[:0], n)[:n], slices.Grow(r.from[:0], n)[:n]
	var until, from schema.Opt[int64]
	for i := range n {
		r.until[i] = until
		if end := spoken(c.Turns().At(i), colTurnEnd); end.OK && (!until.OK || end.V > until.V) {
			until = end
		}
	}
	for i := n - 1; i >= 0; i-- {
		r.from[i] = from
		if start := spoken(c.Turns().At(i), colTurnStart); start.OK && (!from.OK || start.V < from.V) {
			from = start
		}
	}
}

// spoken returns a time of a turn of speech, in ms.
func spoken(turn schema.Row, col int) schema.Opt[int64] {
	if role := string(turn[colTurnRole].ByteArray()); role != "agent" && role != "user" {
		return schema.Opt[int64]{}
	}
	return schema.MillisOf(turn[col])
}

func (r *ToolRows) rowOf(c *Call, t *ToolCall) schema.Row {
	if r.row == nil {
		r.row, r.names = make(schema.Row, len(schema.ToolCalls.Columns)), map[string]bool{}
	}
	row := r.row
	clear(row)
	row[colToolCall], row[colToolTurn] = c.Row[colCallID], parquet.Int32Value(int32(t.turn()))
	row[colToolCallStart], row[colToolFetched] = c.Row[colStartAt], c.Row[colFetchedAt]
	row[colToolID] = schema.TextValue(t.id)
	first, last := t.turn(), t.turn()
	var began, ended schema.Opt[int64]
	if t.result >= 0 {
		result := c.Turns().At(t.result)
		row[colToolName], row[colToolResult] = result[colTurnToolName], schema.TextValue(toolResult(result))
		row[colToolResultTurn], row[colToolFailed] = parquet.Int32Value(int32(t.result)), parquet.BooleanValue(t.failed)
		if ended = schema.MillisOf(result[colTurnEnd]); !ended.OK {
			ended = schema.MillisOf(result[colTurnStart])
		}
		first, last = min(first, t.result), max(last, t.result)
	}
	if t.invocation >= 0 {
		invocation := c.Turns().At(t.invocation)
		if name := invocation[colTurnToolName]; !name.IsNull() {
			row[colToolName] = name
		}
		row[colToolArguments], began = invocation[colTurnArguments], schema.MillisOf(invocation[colTurnStart])
	}
	name := string(row[colToolName].ByteArray())
	if row[colToolName].IsNull() {
		name = "\x00" // no name in a transcript is equal to it
	}
	row[colToolFirst] = parquet.BooleanValue(!r.names[name])
	r.names[name] = true
	row[colToolStart], row[colToolEnd] = schema.MillisValue(began), schema.MillisValue(ended)
	row[colToolDuration], row[colToolPause] = between(began, ended), between(r.until[first], r.from[last])
	return row
}

// between returns the time between two instants, in ms, at least 0.
func between(from, to schema.Opt[int64]) parquet.Value {
	return schema.LongValue(schema.Opt[int64]{V: max(to.V-from.V, 0), OK: from.OK && to.OK})
}

// appendMove appends the move that a tool call makes through the agent's graph, if any, to the JSON
// of the column moves. Its node is the value as sent, in the form in which reports read arguments.
func (c *Call) appendMove(moves []byte, t *ToolCall) []byte {
	name, arguments, node := parquet.Value{}, []byte(nil), []byte(nil)
	if t.result >= 0 {
		name = c.Turns().At(t.result)[colTurnToolName]
	}
	if t.invocation >= 0 {
		invocation := c.Turns().At(t.invocation)
		if own := invocation[colTurnToolName]; !own.IsNull() {
			name = own
		}
		arguments = schema.TextOf(invocation[colTurnArguments])
	}
	if string(name.ByteArray()) != "transition_to_node" {
		return moves
	}
	next := byte(',')
	if moves == nil {
		next = '['
	}
	moves = append(append(moves, next), `{"node":`...)
	for _, member := range []string{"node", "node_id"} {
		for m := range scan.Members(arguments) {
			if string(m.Name) == member { // the first of a name counts
				if m.Value.Shape != scan.IsNull {
					node = m.Value.Raw
				}
				break
			}
		}
		if node != nil {
			break
		}
	}
	switch {
	case node != nil:
		moves = append(moves, node...)
	case arguments != nil:
		moves = scan.AppendString(moves, arguments)
	default:
		moves = append(moves, `"(none)"`...)
	}
	if t.failed {
		moves = append(moves, `,"failed":true`...)
	}
	return append(moves, '}')
}

// toolResult returns a tool's result: its text, or the JSON sent in its place; nil if neither.
func toolResult(turn schema.Row) []byte {
	if content := schema.TextOf(turn[colTurnContent]); content != nil {
		return content
	}
	for m := range scan.Members(schema.TextOf(turn[colTurnExtra])) {
		if string(m.Name) == "content" {
			return m.Value.Raw
		}
	}
	return nil
}

// failureWords match a failure at the start of a result that is not JSON.
var failureWords = regexp.MustCompile(`(?i)^\s*(error|exception|failed|failure|timeout|traceback)\b`)

// IsFailure reports whether a tool's result is a failure, as the dictionary defines it under
// tool_calls.
func IsFailure(result []byte) bool {
	text := bytes.TrimLeft(result, "\t\n\f\r ")
	if len(text) == 0 {
		return false
	}
	if text[0] != '{' {
		switch text[0] | 0x20 {
		case 'e', 'f', 't':
			return failureWords.Match(text)
		}
		return false
	}
	if _, err := scan.Whole(result); err != nil {
		return false
	}
	var seen [len(failureMembers)]bool // the first member of a name counts
	for m := range scan.Members(text) {
		for i := range failureMembers {
			if f := &failureMembers[i]; f.name == string(m.Name) && !seen[i] {
				if seen[i] = true; f.fails(m.Value) {
					return true
				}
			}
		}
	}
	return false
}

// failureMembers are the members of a result's object that indicate a failure.
var failureMembers = [...]struct {
	name  string
	fails func(scan.Value) bool
}{
	{"error", isError}, {"errors", isError},
	{"status", func(v scan.Value) bool { return isErrorWord(v) || isErrorCode(v) }},
	{"status_code", isErrorCode}, {"statusCode", isErrorCode}, {"code", isErrorCode},
	{"success", isFalse}, {"ok", isFalse}, {"is_error", isTrue}, {"isError", isTrue},
}

func isTrue(v scan.Value) bool  { return v.Shape == scan.IsTrue }
func isFalse(v scan.Value) bool { return v.Shape == scan.IsFalse }

// isError reports whether the value of error is anything but null, false, 0 or empty.
func isError(v scan.Value) bool {
	switch v.Shape {
	case scan.IsNull, scan.IsFalse:
		return false
	case scan.IsString:
		return len(v.Raw) > len(`""`)
	case scan.IsObject, scan.IsArray:
		return len(bytes.TrimSpace(v.Raw[1:len(v.Raw)-1])) > 0
	case scan.IsNumber:
		n, err := strconv.ParseFloat(string(v.Raw), 64)
		return err != nil || n != 0
	}
	return true
}

func isErrorWord(v scan.Value) bool {
	return v.Shape == scan.IsString && slices.ContainsFunc(errorWords, func(word []byte) bool {
		return bytes.EqualFold(word, scan.KeyText(v))
	})
}

var errorWords = bytes.Fields([]byte("error errored failed failure fault exception timeout timed_out"))

func isErrorCode(v scan.Value) bool {
	if v.Shape != scan.IsNumber {
		return false
	}
	n, err := strconv.ParseFloat(string(v.Raw), 64)
	return err == nil && n >= 400 && n <= 599
}
