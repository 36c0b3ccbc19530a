package calls

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Positions of the columns that hold the facts of a transcript, and of those they come from.
var (
	colSpokenTurns                     = schema.Calls.Column("spoken_turns")
	colTalk                            = bySide(&schema.Calls, "agent_talk_ms", "user_talk_ms")
	colInterruptions                   = bySide(&schema.Calls, "agent_interruptions", "user_interruptions")
	colFirstWord                       = bySide(&schema.Calls, "agent_first_word_ms", "user_first_word_ms")
	colLongestSilence, colResponses    = schema.Calls.Column("longest_silence_ms"), schema.Calls.Column("response_ms")
	colToolUses, colFailedUses         = schema.Calls.Column("tool_uses"), schema.Calls.Column("failed_tool_uses")
	colLastTool                        = schema.Calls.Column("last_tool")
	colTurnStart, colTurnEnd           = schema.Turns.Column("start_at"), schema.Turns.Column("end_at")
	colTurnToolCallID, colTurnToolName = schema.Turns.Column("tool_call_id"), schema.Turns.Column("tool_name")
	colTurnExtra                       = schema.Turns.Column("extra")
)

// Derived are the columns that Complete sets.
var Derived = []int{colUserTurns, colSpokenTurns, colTalk[agent], colTalk[user], colResponses,
	colInterruptions[agent], colInterruptions[user], colLongestSilence,
	colFirstWord[agent], colFirstWord[user], colToolUses, colFailedUses, colLastTool}

// The two sides of a conversation.
const (
	agent = iota
	user
)

func bySide(t *schema.Table, names ...string) (cols [2]int) {
	for i, name := range names {
		cols[i] = t.Column(name)
	}
	return cols
}

// Complete sets the columns that follow from the transcript. The dictionary defines them; they are
// null if no record of the call was ever decoded.
func (c *Call) Complete() {
	s, tools := speech{most: c.Turns().Len()}, toolUses{}
	said := int32(0)
	for i := range c.Turns().Len() {
		turn := c.Turns().At(i)
		switch role := turn[colTurnRole].ByteArray(); string(role) {
		case "agent":
			s.add(agent, turn)
		case "user":
			if s.add(user, turn); ByUser(turn) {
				said++
			}
		case "tool_call_invocation", "tool_call_result":
			tools.add(len(role) == len("tool_call_result"), turn)
		}
	}
	known := c.TurnCount().OK
	c.setInt(colUserTurns, said, known)
	c.setInt(colSpokenTurns, s.turns, known)
	c.setLong(colLongestSilence, max(s.silence, 0), known && s.silent)
	c.Row[colResponses] = parquet.Value{}
	if len(s.responses) > 0 {
		c.Row[colResponses] = schema.TextValue(append(s.responses, ']'))
	}
	for side := range colTalk {
		c.setLong(colTalk[side], s.talk[side], known)
		c.setInt(colInterruptions[side], s.interruptions[side], known)
		c.setLong(colFirstWord[side], s.first[side].V-c.StartAt().V, s.first[side].OK && c.StartAt().OK)
	}
	c.setInt(colToolUses, tools.count(), known)
	c.setInt(colFailedUses, tools.failed, known)
	c.Row[colLastTool] = tools.last
}

// Underived reports whether the call has turns but lacks the facts of its transcript: its row is as
// an earlier version wrote it.
func (c *Call) Underived() bool { return c.TurnCount().V > 0 && c.Row[colSpokenTurns].IsNull() }

func (c *Call) setInt(col int, n int32, known bool) {
	if c.Row[col] = (parquet.Value{}); known {
		c.Row[col] = parquet.Int32Value(n)
	}
}

func (c *Call) setLong(col int, n int64, known bool) {
	if c.Row[col] = (parquet.Value{}); known {
		c.Row[col] = parquet.Int64Value(n)
	}
}

// speech are the facts of the spoken turns of a call, in ms. Only turns with a known start and end
// count, except for the first words.
type speech struct {
	most          int // turns that there are
	turns         int32
	talk          [2]int64
	interruptions [2]int32
	first         [2]schema.Opt[int64] // earliest start, in ms since 1970
	silence       int64
	silent        bool // there is a silence, which is negative if all turns overlap
	responses     []byte

	until [2]schema.Opt[int64] // latest end so far
	last  int                  // side of the previous turn
	ended int64                // its end
}

func (s *speech) add(side int, turn schema.Row) {
	from, to := schema.MillisOf(turn[colTurnStart]), schema.MillisOf(turn[colTurnEnd])
	if from.OK && (!s.first[side].OK || from.V < s.first[side].V) {
		s.first[side] = from
	}
	if !from.OK || !to.OK {
		return
	}
	other := s.until[1-side]
	if other.OK && from.V < other.V {
		s.interruptions[side]++
	}
	if s.turns > 0 {
		until := s.until[side]
		if !until.OK || other.OK && other.V > until.V {
			until = other
		}
		if silence := from.V - until.V; !s.silent || silence > s.silence {
			s.silence, s.silent = silence, true
		}
		if side == agent && s.last == user && from.V >= s.ended {
			separator := byte(',')
			if s.responses == nil {
				s.responses, separator = make([]byte, 0, 8+3*s.most), '['
			}
			s.responses = strconv.AppendInt(append(s.responses, separator), from.V-s.ended, 10)
		}
	}
	if own := &s.until[side]; !own.OK || to.V > own.V {
		*own = to
	}
	s.turns++
	s.talk[side] += to.V - from.V
	s.last, s.ended = side, to.V
}

// toolUses counts the tool calls of a call: the n-th invocation of a tool_call_id and its n-th
// result are one.
type toolUses struct {
	loose  int32 // without an id
	byID   []toolCount
	failed int32
	last   parquet.Value // name of the tool invoked last
}

type toolCount struct {
	id                   []byte
	invocations, results int32
}

func (u *toolUses) add(isResult bool, turn schema.Row) {
	if isResult && TellsFailure(toolResult(turn)) {
		u.failed++
	}
	if !isResult && !turn[colTurnToolName].IsNull() {
		u.last = turn[colTurnToolName]
	}
	id := schema.TextOf(turn[colTurnToolCallID])
	if id == nil {
		u.loose++
		return
	}
	n := u.of(id)
	if isResult {
		n.results++
	} else {
		n.invocations++
	}
}

// of returns the count of an id. A call has few, and most recent ones come again.
func (u *toolUses) of(id []byte) *toolCount {
	for i := len(u.byID) - 1; i >= 0; i-- {
		if bytes.Equal(u.byID[i].id, id) {
			return &u.byID[i]
		}
	}
	if u.byID == nil {
		u.byID = make([]toolCount, 0, 8)
	}
	u.byID = append(u.byID, toolCount{id: id})
	return &u.byID[len(u.byID)-1]
}

func (u *toolUses) count() int32 {
	n := u.loose
	for _, of := range u.byID {
		n += max(of.invocations, of.results)
	}
	return n
}

// toolResult returns what a tool answered: a text, or the JSON sent in its place; nil if neither.
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

// failureWords begin a result that is not JSON and is a failure.
var failureWords = regexp.MustCompile(`(?i)^\s*(error|exception|failed|failure|timeout|traceback)\b`)

// TellsFailure reports whether a tool's result is a failure, as the dictionary defines it under
// tool_calls.
func TellsFailure(result []byte) bool {
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
	var seen [len(failureMembers)]bool // of members with the same name the first counts
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

// failureMembers are the members of a result's object that tell of a failure.
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
