package calls

import (
	"cmp"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// answerKey is the key of a row of AnswerTallies.
type answerKey struct {
	first, lasted schema.Opt[int64]
	tool          uint32
}

// answered is the column is_answered of the view calls.
func (c *Call) answered() bool {
	userTurns, state := c.UserTurns(), c.TranscriptState()
	return c.Settlement() != Open && c.StartAt().OK && (userTurns.V > 0 || state == Empty || state == Present && userTurns.OK) &&
		c.mayHaveConnected() && string(c.text(colReason)) != "voicemail_reached"
}

// addAnswer counts a call that was answered.
func (t *Tallies) addAnswer(c *Call) {
	if t.givenUp[&schema.AnswerTallies] || !c.answered() {
		return
	}
	f := &t.facts
	if first := schema.LongOf(c.Row[colFirstWord[agent]]); first.OK {
		f.byAnswer[answerKey{first: first}]++
	}
	reason, ended := string(c.text(colReason)), c.Status() == nil || schema.Calls.Columns[colStatus].Knows(c.Status())
	if ended && (reason == "call_transfer" || reason == "operator_hangup") {
		f.byAnswer[answerKey{tool: f.words.id(c.text(colLastTool)), lasted: c.DurationMS()}]++
	}
	if len(f.byAnswer) > mostAnswerTallies {
		t.givenUp[&schema.AnswerTallies] = true
		clear(f.byAnswer)
	}
}

// closeAnswers emits the rows of AnswerTallies.
func (t *Tallies) closeAnswers() error {
	return handOn(t, &schema.AnswerTallies, t.facts.byAnswer, func(a, b answerKey) int {
		return cmp.Or(compareOpt(a.first, b.first), t.facts.words.compare(a.tool, b.tool), compareOpt(a.lasted, b.lasted))
	}, func(row parquet.Row, k answerKey, n int64) parquet.Row {
		return append(row, schema.LongValue(k.first), t.facts.words.value(k.tool), schema.LongValue(k.lasted), parquet.Int64Value(n))
	})
}
