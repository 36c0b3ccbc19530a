package tally

import (
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Positions of columns.
var (
	colAgentID, colAgentVersion     = column("agent_id"), column("agent_version")
	colStatus                       = column("status")
	colCallType, colDirection       = column("call_type"), column("direction")
	colVariantLabel                 = column("variant_label")
	colReason, colUserSentiment     = column("disconnection_reason"), column("user_sentiment")
	colFromNumber, colToNumber      = column("from_number"), column("to_number")
	colFromE164, colToE164          = column("from_e164"), column("to_e164")
	colSpokenTurns, colResponses    = column("spoken_turns"), column("response_ms")
	colLongestSilence, colFirstWord = column("longest_silence_ms"), column("agent_first_word_ms")
	colFailedUses, colLastTool      = column("failed_tool_uses"), column("last_tool")
	colMoves                        = column("moves")

	// by side: the agent's, then the caller's
	colTalk          = [...]int{column("agent_talk_ms"), column("user_talk_ms")}
	colInterruptions = [...]int{column("agent_interruptions"), column("user_interruptions")}

	colItemName, colItemType, colItemValue = schema.Items.Column("name"), schema.Items.Column("type"), schema.Items.Column("value")

	colToolName, colToolPause     = schema.ToolCalls.Column("tool_name"), schema.ToolCalls.Column("pause_ms")
	colToolDuration, colToolFirst = schema.ToolCalls.Column("duration_ms"), schema.ToolCalls.Column("is_first")
	colToolFailed                 = schema.ToolCalls.Column("failed")
)

func column(name string) int { return schema.Calls.Column(name) }

func text(c *calls.Call, col int) []byte { return schema.TextOf(c.Row[col]) }
