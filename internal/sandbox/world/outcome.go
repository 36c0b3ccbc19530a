package world

import (
	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
)

// outcome draws the course of call c: whether it connects, why it ends, the conversation and the
// mood. Everything else follows.
func (w *World) outcome(c *Call, d *dice.Dice) {
	a := c.Agent
	c.QueuedAt = c.StartAt
	if a.Direction == "inbound" {
		w.converse(c, d)
		return
	}
	c.QueuedAt -= d.Between(2*msSecond, 12*msSecond)
	undialled, busy := .045, .004
	if hour := (c.StartAt + zoneOffset) % msDay / msHour; hour == 10 {
		busy = .03 // the lines are busiest at ten
	}
	switch u := d.Unit(); {
	case u < .008:
		c.QueuedAt -= d.Between(0, 30*msSecond)
		c.fail("canceled", "", c.StartAt)
	case u < undialled:
		c.fail("not_connected", "dial_failed", c.StartAt+d.Between(0, 900))
	case u < undialled+busy:
		c.fail("not_connected", "concurrency_limit_reached", c.StartAt)
	case u < undialled+.0008+busy:
		c.fail("not_connected", "insufficient_balance", c.StartAt)
	case !d.Chance(w.answers(c)):
		c.QueuedAt = c.StartAt - d.Between(22*msSecond, 45*msSecond)
		c.fail("not_connected", "dial_no_answer", c.StartAt+d.Between(0, 40))
	case d.Chance(a.voicemail):
		c.ended("voicemail_reached", "voicemail")
		c.say(c.scenario.Voicemail)
		c.last(d, maxDuration)
		c.feel(d, .01, .01)
	default:
		w.converse(c, d)
	}
}

// answers is the chance that a person answers: lower early and over lunch, higher in the evening.
func (w *World) answers(c *Call) float64 {
	p := c.Agent.connect + c.lift*.3
	switch hour := (c.StartAt + zoneOffset) % msDay / msHour; {
	case hour < 9:
		p -= .12
	case hour == 12:
		p -= .08
	case hour >= 18:
		p += .07
	}
	return p
}

func (c *Call) fail(status, reason string, end int64) {
	c.Status, c.Reason, c.EndAt = status, reason, end
}

func (c *Call) ended(reason, summary string) {
	c.Status, c.Reason, c.summary, c.talked = "ended", reason, summary, true
}

// say adds a beat if there is room.
func (c *Call) say(n int) {
	if c.beatN == maxBeats {
		return
	}
	c.beats[c.beatN] = uint8(n)
	c.beatN++
	b := &c.scenario.Beats[n]
	for r, count := range b.Count {
		c.counts[r] += int(count)
	}
	if !c.Agent.Flow {
		c.counts[script.RoleInvocation] -= b.Moves / 2
		c.counts[script.RoleResult] -= b.Moves / 2
	}
}

// steps says the first n steps of the script.
func (c *Call) steps(n int) {
	for _, s := range c.scenario.Steps[:n] {
		c.say(s)
	}
}

// usual returns the usual duration of the conversation.
func (c *Call) usual() float64 {
	var ms float64
	var turns int
	for _, n := range c.beats[:c.beatN] {
		ms += c.scenario.Beats[n].MS
		turns += c.scenario.Beats[n].Turns
	}
	return ms + float64(turns)*c.latency()
}

// latency is the agent's usual time to answer in ms; a better version is faster.
func (c *Call) latency() float64 { return c.Agent.latency * (1 - 2.5*c.lift) }

// last sets the end from the conversation and its pace.
func (c *Call) last(d *dice.Dice, most int64) {
	pace := .85 + .4*d.Unit()
	c.EndAt = c.StartAt + min(900+int64(c.usual()*pace), most)
}

// feel draws the caller's mood from the usual shares, shifted by how pleasant and fast the agent
// is.
func (c *Call) feel(d *dice.Dice, positive, negative float64) {
	a := c.Agent
	shift := (a.mood*.5 + 2*c.lift + (1000-a.latency)/5000)
	positive += positive * shift
	negative -= negative * shift
	switch u := d.Unit(); {
	case u < positive:
		c.Sentiment = "positive"
	case u < positive+negative:
		c.Sentiment = "negative"
	default:
		c.Sentiment = "neutral"
	}
}

// converse draws the course of a call with a person.
func (w *World) converse(c *Call, d *dice.Dice) {
	a, sc := c.Agent, c.scenario
	fault, course := d.Unit(), d.Unit()
	transfer := a.transfer * (1 - 3*c.lift)
	early := a.early * (1 - 3*c.lift)
	c.say(sc.Hello)
	positive, negative := 0.0, 0.0
	switch {
	case fault < .007:
		c.breakOff(d, fault < .004)
	case fault < .027:
		c.ended("inactivity", "silence")
		if d.Chance(.6) {
			c.say(sc.Open)
			c.steps(d.Below(len(sc.Steps)))
		}
		c.say(sc.Silence)
		positive, negative = .02, .18
	case course < transfer:
		c.ended("call_transfer", "transfer")
		c.say(sc.Open)
		c.steps(1 + d.Below(len(sc.Steps)))
		c.digress(d, .35)
		c.say(sc.Transfer)
		positive, negative = .24, .27
	case course < transfer+early:
		c.ended("user_hangup", "early")
		if d.Chance(.75) {
			c.say(sc.Open)
			c.steps(d.Below(len(sc.Steps)))
		}
		positive, negative = .04, .46
	default:
		c.Good = d.Chance(a.success + c.lift)
		reason, summary, end := "agent_hangup", "bad", sc.CloseBad
		positive, negative = .13, .30
		if c.Good {
			summary, end = "good", sc.CloseGood
			positive, negative = .56, .05
		}
		if d.Chance(.34) {
			reason = "user_hangup"
		}
		c.ended(reason, summary)
		c.say(sc.Open)
		c.steps(len(sc.Steps))
		c.digress(d, .55)
		c.say(end)
	}
	if c.Status == "ended" && c.usual()*1.25 > float64(maxDuration) {
		c.ended("max_duration_reached", "limit")
		c.Good = false
		c.EndAt = c.StartAt + maxDuration + d.Between(0, 400)
		positive, negative = .15, .3
	} else if c.EndAt == 0 {
		c.last(d, maxDuration-1)
	}
	c.feel(d, positive, negative)
	if n := c.counts[script.RoleInvocation]; n > 0 && d.Chance(a.toolErrors) {
		c.retry = uint8(1 + d.Below(min(n, 250)))
		c.counts[script.RoleInvocation]++
		c.counts[script.RoleResult]++
	}
	if a.extracts && c.Status == "ended" {
		found := .93
		if c.summary == "early" || c.summary == "silence" {
			found = .3
		}
		for i := range sc.Extracts {
			if d.Chance(found) {
				c.extracts |= 1 << i
			}
		}
	}
}

// breakOff ends a call by a failure of the service, sometimes before a word.
func (c *Call) breakOff(d *dice.Dice, platform bool) {
	c.ended("flow_error", "")
	if platform {
		c.Reason = "error_voxai"
	}
	c.Status = "error"
	if d.Chance(.2) {
		c.beatN, c.counts = 0, [script.Roles]int{}
		c.EndAt = c.StartAt + d.Between(80, 900)
		return
	}
	c.say(c.scenario.Open)
	c.steps(d.Below(len(c.scenario.Steps)))
}

// digress adds side questions: usually none to three, sometimes a whole chain.
func (c *Call) digress(d *dice.Dice, p float64) {
	n := 0
	for n < 4 && d.Chance(p) {
		n++
	}
	if d.Chance(.05) {
		n += 3 + d.Below(22)
	}
	asides := c.scenario.Asides
	at := d.Below(len(asides))
	for range n {
		c.say(asides[at])
		at = (at + 1 + d.Below(2)) % len(asides)
	}
}
