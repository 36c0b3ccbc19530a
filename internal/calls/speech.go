package calls

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// Positions of the columns that hold the facts of a transcript, and of those they come from.
var (
	colSpokenTurns                  = schema.Calls.Column("spoken_turns")
	colTalk                         = bySide(&schema.Calls, "agent_talk_ms", "user_talk_ms")
	colInterruptions                = bySide(&schema.Calls, "agent_interruptions", "user_interruptions")
	colFirstWord                    = bySide(&schema.Calls, "agent_first_word_ms", "user_first_word_ms")
	colLongestSilence, colResponses = schema.Calls.Column("longest_silence_ms"), schema.Calls.Column("response_ms")
	colToolUses, colFailedUses      = schema.Calls.Column("tool_uses"), schema.Calls.Column("failed_tool_uses")
	colLastTool, colMoves           = schema.Calls.Column("last_tool"), schema.Calls.Column("moves")
	colTurnStart, colTurnEnd        = schema.Turns.Column("start_at"), schema.Turns.Column("end_at")
)

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

// Complete sets the columns that follow from the transcript, whose tool calls are tools. The
// dictionary defines them; they are null if no record of the call was ever decoded.
func (c *Call) Complete(tools []ToolCall) {
	s := speech{max: c.Turns().Len()}
	said := int32(0)
	for i := range c.Turns().Len() {
		turn := c.Turns().At(i)
		switch string(turn[colTurnRole].ByteArray()) {
		case "agent":
			s.add(agent, turn)
		case "user":
			if s.add(user, turn); ByUser(turn) {
				said++
			}
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
	failed := int32(0)
	c.Row[colLastTool], c.Row[colMoves] = parquet.Value{}, parquet.Value{}
	var moves []byte
	for i := range tools {
		t := &tools[i]
		if t.failed {
			failed++
		}
		if t.invocation >= 0 && !c.Turns().At(t.invocation)[colTurnToolName].IsNull() {
			c.Row[colLastTool] = c.Turns().At(t.invocation)[colTurnToolName]
		}
		moves = c.appendMove(moves, t)
	}
	switch {
	case moves != nil:
		c.Row[colMoves] = schema.TextValue(append(moves, ']'))
	case known:
		c.Row[colMoves] = noMoves
	}
	c.setInt(colToolUses, int32(len(tools)), known)
	c.setInt(colFailedUses, failed, known)
}

// noMoves is the value of moves of a transcript without any.
var noMoves = schema.TextValue([]byte("[]"))

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
	max           int // number of turns
	turns         int32
	talk          [2]int64
	interruptions [2]int32
	first         [2]schema.Opt[int64] // earliest start, in ms since 1970
	silence       int64
	silent        bool // there is a gap between turns; it is negative if all turns overlap
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
	to.V = max(to.V, from.V) // an end before the start counts as drift
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
				s.responses, separator = make([]byte, 0, 8+3*s.max), '['
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
