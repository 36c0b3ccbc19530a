package world

import (
	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
)

// Call is the final state of a call, without its words. A [View] is what the API shows of it at an
// instant.
type Call struct {
	Index    int64  // 0 is the company's oldest call
	Order    *Order // nil for a computed call
	ID       UUID
	Agent    *Agent
	Version  string // the agent's
	Variant  string // A, B, or empty for null
	Type     string // inbound, outbound, web, phone, api, unknown
	Status   string // the final one: ended, error, canceled, not_connected
	Reason   string // the disconnection reason; empty for null
	QueuedAt int64  // when it first shows; StartAt if it is never queued
	StartAt  int64
	EndAt    int64

	VisibleAt int64 // when the API first shows it
	DeletedAt int64 // when it vanishes; 0: never

	Sentiment  string // empty if there is never an analysis
	AnalysisAt int64  // when the analysis arrives; 0: never
	CostAt     int64
	Cost       int64 // hundredths of a won
	OptedOut   bool

	// By Config.Faults. Times: 0 is the usual one, or never.
	TranscriptAt, RecordingAt       int64
	recordAt, maskedAt, correctedAt int64
	seconds                         bool // times show in whole seconds
	Form                            Form

	Drift    driftKind
	Key      uint64 // seed of all further draws
	scenario *script.Scenario
	customer int
	summary  string // its kind
	Good     bool   // it succeeded
	extracts uint16 // bits of the scenario's extractions with a value
	talked   bool   // it has a transcript
	beats    [maxBeats]uint8
	beatN    uint8
	retry    uint8 // the tool call that fails once, from 1; 0: none
	counts   [script.Roles]int
	personal bool    // see Config.Personal
	lift     float64 // how much better than usual its agent's version performs
}

// maxBeats bounds a conversation, and so a body, to about 40 KB.
const maxBeats = 40

// maxDuration is where the service ends every conversation.
const maxDuration = 7 * msMinute

// maxQueue bounds the time from a call's queueing to its start.
const maxQueue = 50 * msSecond

type driftKind uint8

const (
	driftNone driftKind = iota
	driftReason
	DriftField
	DriftNumber
)

// Items returns the numbers of transcript items by role: agent, user, tool_call_invocation,
// tool_call_result.
func (c *Call) Items() (agent, user, invocations, results int) {
	return c.counts[script.RoleAgent], c.counts[script.RoleUser], c.counts[script.RoleInvocation], c.counts[script.RoleResult]
}

// call computes call k of the arrival curve.
func (w *World) call(c *Call, k int64) {
	*c = Call{Index: k - w.base, ID: w.id(k), Key: dice.Hash(w.Key, uint64(k)), StartAt: w.arrivals.start(k)}
	d := dice.New(c.Key)
	a := w.roster.at(c.StartAt, d.Unit())
	c.Agent, c.scenario = a, a.scenario
	c.customer = d.Below(customers)

	v := &a.versions[2]
	if u := d.Unit(); u < a.versions[0].share {
		v = &a.versions[0]
	} else if u < a.versions[0].share+a.versions[1].share {
		v = &a.versions[1]
	}
	c.Version, c.lift = v.label, v.lift
	if a.Variants {
		c.Variant = "A"
		if d.Chance(.5) {
			c.Variant = "B"
			c.lift += .06 * (a.success - .6) / .3 // B is not always the better one
		}
	}
	c.Type = callType(a.Direction, d.Unit())
	c.OptedOut = d.Chance(.007)
	w.settle(c, &d)
	w.hide(c, k)
	if w.cfg.DriftRate > 0 && c.StartAt >= w.driftFrom {
		if h := dice.Hash(c.Key, 7); dice.Unit(h) < w.cfg.DriftRate {
			c.Drift = driftReason + driftKind(dice.Pick(dice.Mix(h), 3))
			if c.Drift == driftReason && c.Status == "ended" {
				c.Reason = "assistant_forwarded"
			}
		}
	}
	w.disturb(c)
}

func callType(direction string, u float64) string {
	if u >= .99 {
		return "unknown"
	}
	if direction == "inbound" {
		switch {
		case u < .84:
			return "inbound"
		case u < .96:
			return "web"
		}
		return "phone"
	}
	switch {
	case u < .78:
		return "outbound"
	case u < .93:
		return "api"
	}
	return "phone"
}

// settle draws the course and times of the call.
func (w *World) settle(c *Call, d *dice.Dice) {
	w.outcome(c, d)
	if w.cfg.Personal {
		c.reveal()
	}
	if c.Status != "ended" {
		c.Sentiment = ""
		return
	}
	if c.OptedOut {
		c.Sentiment = ""
	} else {
		c.AnalysisAt = c.EndAt + delay(d, 25*msSecond, 6*msHour)
	}
	c.CostAt = c.EndAt + delay(d, 90*msSecond, 12*msHour)
	seconds := (c.EndAt - c.StartAt + 999) / 1000
	c.Cost = (seconds*c.Agent.rate*100 + 59) / 60
}

// delay draws from least to most, mostly near the lower end: the sixth power of a draw has a median
// of a 64th of the span.
func delay(d *dice.Dice, least, most int64) int64 {
	u := d.Unit()
	u *= u * u
	return least + int64(u*u*float64(most-least))
}

// hide computes when the API begins and stops showing the call.
func (w *World) hide(c *Call, k int64) {
	c.VisibleAt, c.DeletedAt = w.hidden(k, c.StartAt)
	if c.VisibleAt == 0 {
		c.VisibleAt = c.QueuedAt
	}
}

// hidden returns when call k first shows if that is later than usual, and when it vanishes; 0:
// neither.
func (w *World) hidden(k, start int64) (shows, vanishes int64) {
	if !w.hides {
		return 0, 0
	}
	key := dice.Hash(w.Key+9, uint64(k))
	if dice.Unit(key) < w.cfg.LateVisibleRate {
		shows = start + msMinute + int64(dice.Pick(dice.Hash(key, 1), int(6*msHour-msMinute+1)))
	}
	if dice.Unit(dice.Hash(key, 2)) < w.cfg.DeleteRate {
		vanishes = start + msMinute + int64(dice.Pick(dice.Hash(key, 3), int(10*msDay-msMinute+1)))
	}
	if n, index := w.cfg.Hidden, k-w.base; n > 0 {
		if every := w.cfg.Calls / n; index/every < n && index%every == every/2 {
			vanishes = 1
		}
	}
	return shows, vanishes
}
