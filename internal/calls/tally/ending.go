package tally

import (
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// ending is how a call ended, as the view calls tells it.
type ending struct {
	reason    string  // disconnection_reason
	connected bool    // is_connected is not false, for a started call
	voicemail bool    // is_voicemail, if connected
	answered  bool    // is_answered
	outcome   outcome // of an answered call
}

// outcome is the outcome of an answered call; lost means failed or abandoned.
type outcome uint8

const (
	unknownOutcome outcome = iota
	completed
	transferred
	lost
)

func endingOf(c *calls.Call) ending {
	e := ending{reason: string(text(c, colReason)), connected: mayHaveConnected(c)}
	e.voicemail = e.reason == "voicemail_reached"
	userTurns, state := c.UserTurns(), c.TranscriptState()
	e.answered = c.Settlement() != calls.Open && c.StartAt().OK && e.connected && !e.voicemail &&
		(userTurns.V > 0 || state == calls.Empty || state == calls.Present && userTurns.OK)
	if e.answered {
		e.outcome = outcomeOf(c, e.reason)
	}
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

// outcomeOf returns the outcome of an answered call.
func outcomeOf(c *calls.Call, reason string) outcome {
	status := string(c.Status())
	if c.Status() != nil && !schema.Calls.Columns[colStatus].Knows(c.Status()) {
		return unknownOutcome
	}
	switch reason {
	case "call_transfer", "operator_hangup":
		return transferred
	case "error_voxai", "flow_error", "orphaned_no_agent_pickup", "inactivity", "max_duration_reached", "insufficient_balance":
		return lost
	case "user_hangup", "agent_hangup":
		short := c.DurationMS().OK && c.DurationMS().V < schema.LastShortStep
		switch {
		case status == "error":
			return lost
		case status == "ongoing":
			return unknownOutcome
		case c.UserTurns().V == 0 || short:
			return lost
		}
		return completed
	}
	if status == "error" && text(c, colReason) == nil {
		return lost
	}
	return unknownOutcome
}
