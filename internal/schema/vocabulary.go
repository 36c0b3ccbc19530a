package schema

// The words known for a field. Others are kept as they are, and counted. What a
// status or a reason means is said in sql/macros.sql, which knows the same ones.

func knownCallType(w []byte) bool {
	switch string(w) {
	case "web", "phone", "inbound", "outbound", "api", "unknown":
		return true
	}
	return false
}

func knownStatus(w []byte) bool {
	switch string(w) {
	case "queued", "ongoing", "ended", "error", "canceled", "not_connected",
		"registered", "ringing", "initiated":
		return true
	}
	return false
}

func knownReason(w []byte) bool {
	switch string(w) {
	case "user_hangup", "agent_hangup", "dial_no_answer", "dial_failed", "voicemail_reached",
		"concurrency_limit_reached", "insufficient_balance", "error_voxai", "max_duration_reached",
		"inactivity", "flow_error", "call_transfer",
		"dial_busy", "dial_declined", "orphaned_no_agent_pickup", "blocked_number", "operator_hangup",
		"daily_call_limit_reached", "hourly_call_limit_reached":
		return true
	}
	return false
}

func knownItemType(w []byte) bool {
	switch string(w) {
	case "string", "enum", "boolean", "number":
		return true
	}
	return false
}

// UnknownWords names the columns of the call that hold a word which is not among
// those known for them.
func (c *Call) UnknownWords() (columns []string) {
	for _, f := range []struct {
		column string
		word   []byte
		known  func([]byte) bool
	}{
		{"call_type", c.CallType, knownCallType}, {"status", c.Status, knownStatus},
		{"disconnection_reason", c.DisconnectionReason, knownReason},
	} {
		if f.word != nil && !f.known(f.word) {
			columns = append(columns, f.column)
		}
	}
	return columns
}
