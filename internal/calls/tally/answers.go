package tally

import (
	"cmp"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// answerKey is the key of a row of AnswerTallies.
type answerKey struct {
	first, lasted schema.Opt[int64]
	tool, agent   uint32
}

// addAnswer counts a call that was answered.
func (t *Tallies) addAnswer(c *calls.Call, e ending) {
	if t.givenUp[&schema.AnswerTallies] || !e.answered {
		return
	}
	f := &t.facts
	agent := f.words.id(text(c, colAgentID))
	if first := schema.LongOf(c.Row[colFirstWord]); first.OK {
		f.byAnswer[answerKey{first: first, agent: agent}]++
	}
	if e.outcome == transferred {
		f.byAnswer[answerKey{tool: f.words.id(text(c, colLastTool)), lasted: c.DurationMS(), agent: agent}]++
	}
	if len(f.byAnswer) > mostAnswerTallies {
		t.givenUp[&schema.AnswerTallies] = true
		clear(f.byAnswer)
	}
}

// closeAnswers emits the rows of AnswerTallies.
func (t *Tallies) closeAnswers() error {
	return handOn(t, &schema.AnswerTallies, t.facts.byAnswer, func(a, b answerKey) int {
		return cmp.Or(compareOpt(a.first, b.first), t.facts.words.compare(a.tool, b.tool), compareOpt(a.lasted, b.lasted),
			t.facts.words.compare(a.agent, b.agent))
	}, func(row parquet.Row, k answerKey, n int64) parquet.Row {
		return append(row, schema.LongValue(k.first), t.facts.words.value(k.tool), schema.LongValue(k.lasted), parquet.Int64Value(n),
			t.facts.words.value(k.agent))
	})
}
