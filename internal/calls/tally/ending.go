package tally

import "callhouse/internal/calls"

// ending is how a call ended, as the view calls tells it.
type ending struct {
	reason    string // disconnection_reason
	connected bool   // is_connected is not false, for a started call
	voicemail bool   // is_voicemail, if connected
	answered  bool   // is_answered
}

func endingOf(c *calls.Call) ending {
	e := ending{reason: string(text(c, colReason)), connected: mayHaveConnected(c)}
	e.voicemail = e.reason == "voicemail_reached"
	userTurns, state := c.UserTurns(), c.TranscriptState()
	e.answered = c.Settlement() != calls.Open && c.StartAt().OK && e.connected && !e.voicemail &&
		(userTurns.V > 0 || state == calls.Empty || state == calls.Present && userTurns.OK)
	return e
}

// mayHaveConnected reports whether is_connected is not false, for a started call.
func mayHaveConnected(c *calls.Call) bool {
	status, reason := string(c.Status()), string(text(c, colReason))
	switch status {
	case "queued", "registered", "initiated", "ringing", "not_connected", "canceled":
		return false
	}
	switch reason {
	case "dial_no_answer", "dial_busy", "dial_declined", "dial_failed", "blocked_number", "concurrency_limit_reached",
		"hourly_call_limit_reached", "daily_call_limit_reached":
		return false
	case "insufficient_balance":
		return status == "ended"
	}
	return true
}
