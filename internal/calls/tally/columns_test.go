package tally

import (
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Positions of columns that only tests set.
var (
	colCallID, colStartAt              = column("call_id"), column("start_at")
	colDurationMS, colTotalCost        = column("duration_ms"), column("total_cost")
	colCreditsUsed                     = column("credits_used")
	colTurnCount, colUserTurns         = column("turn_count"), column("user_turns")
	colExtra, colOptOut                = column("extra"), column("opt_out_sensitive_data_storage")
	colTurnRole, colTurnContent        = schema.Turns.Column("role"), schema.Turns.Column("content")
	colTurnStart, colTurnEnd           = schema.Turns.Column("start_at"), schema.Turns.Column("end_at")
	colTurnToolCallID, colTurnToolName = schema.Turns.Column("tool_call_id"), schema.Turns.Column("tool_name")
)

// set sets a text of a call's row.
func set(c *calls.Call, column, text string) {
	c.Row[schema.Calls.Column(column)] = schema.TextValue([]byte(text))
}
