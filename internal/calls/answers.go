package calls

import (
	"cmp"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// answerKey is a row of AnswerTallies.
type answerKey struct {
	isTransfer bool
	tool       uint32
	ms         schema.Opt[int64] // until the first word, or the duration
}

// answered reports whether a call is answered, as the view calls has it.
func (c *Call) answered() bool {
	userTurns, state := c.UserTurns(), c.TranscriptState()
	return c.Settlement() != Open && c.StartAt().OK && (userTurns.V > 0 || state == Empty || state == Present && userTurns.OK) &&
		c.mayHaveConnected() && string(c.text(colReason)) != "voicemail_reached"
}

// transferred reports whether the outcome of an answered call is transferred.
func (c *Call) transferred() bool {
	switch string(c.text(colReason)) {
	case "call_transfer", "operator_hangup":
		return c.Status() == nil || schema.Calls.Columns[colStatus].Knows(c.Status())
	}
	return false
}

// addAnswer counts a call that was answered.
func (t *Tallies) addAnswer(c *Call) {
	if t.givenUp[&schema.AnswerTallies] || !c.answered() {
		return
	}
	f := &t.facts
	if first := schema.LongOf(c.Row[colFirstWord[agent]]); first.OK {
		f.byAnswer[answerKey{ms: first}]++
	}
	if c.transferred() {
		f.byAnswer[answerKey{true, f.words.id(c.text(colLastTool)), c.DurationMS()}]++
	}
	if len(f.byAnswer) > mostAnswerTallies {
		t.givenUp[&schema.AnswerTallies] = true
		clear(f.byAnswer)
	}
}

// closeAnswers emits the rows of AnswerTallies.
func (t *Tallies) closeAnswers() error {
	f := &t.facts
	return handOn(t, &schema.AnswerTallies, f.byAnswer, func(a, b answerKey) int {
		return cmp.Or(compareBool(a.isTransfer, b.isTransfer), f.words.compare(a.tool, b.tool), compareOpt(a.ms, b.ms))
	}, func(row parquet.Row, k answerKey, n int64) parquet.Row {
		first, lasted := k.ms, schema.Opt[int64]{}
		if k.isTransfer {
			first, lasted = lasted, first
		}
		return append(row, schema.LongValue(first), f.words.value(k.tool), schema.LongValue(lasted), parquet.Int64Value(n))
	})
}
