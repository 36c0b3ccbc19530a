package web

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/human"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

// uttered is an item of a conversation: something said, or a tool with its result.
type uttered struct {
	At, Who, Text string
	Pause         string // silence before it; empty: none worth showing
	Interrupts    bool   // it begins before the one before has ended
	Tool, Failed  bool
	Result        string
}

// Silences from longPause on are shown; a speaker who begins more than overlap before the end of the
// other interrupts.
const (
	longPause = 2_000 // ms
	overlap   = 200
)

// each reads the rows of an answer.
func each(ctx context.Context, rows *analytics.Rows, err error, do func(row []any)) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(row)
	}
}

// conversation returns what was said in a call. A tool's result is folded into its invocation.
func (q *request) conversation(ctx context.Context, id string) (out []uttered, err error) {
	type span struct{ from, to time.Time }
	times := map[float64]span{}
	rows, err := q.house.SQL(ctx, "SELECT turn, start_at, end_at FROM transcript_turns WHERE call_id = ?", id)
	err = each(ctx, rows, err, func(row []any) {
		x := value.Of(row[0])
		n := x.Float()
		from, _ := row[1].(time.Time)
		to, _ := row[2].(time.Time)
		times[n] = span{from, to}
	})
	if err != nil {
		return nil, err
	}
	rows, err = q.house.Report(ctx, "call", question.Params{Call: id})
	var end time.Time // of what was said last
	open := map[string]int{}
	err = each(ctx, rows, err, func(row []any) {
		x := value.Of(row[0])
		n := x.Float()
		t := uttered{}
		t.Who, _ = row[2].(string)
		t.Text, _ = row[3].(string)
		if row[1] != nil {
			t.At = human.Cell(value.Of(row[1]), value.Column{Unit: value.Millis, Kind: value.Integer}, q.zone)
		} else if mark, text, ok := strings.Cut(t.Text, " "); ok && (mark == "←" || mark == "✗") {
			if i, asked := open[t.Who]; asked {
				out[i].Result, out[i].Failed = text, mark == "✗"
				delete(open, t.Who)
				return
			}
			t.Tool, t.Text, t.Result, t.Failed = true, "", text, mark == "✗"
		} else if ok && mark == "→" {
			t.Tool, t.Text = true, text
			open[t.Who] = len(out)
		}
		if at := times[n]; !t.Tool && !at.from.IsZero() {
			gap := at.from.Sub(end).Milliseconds()
			if !end.IsZero() && gap >= longPause {
				t.Pause = human.Cell(value.Of(gap), value.Column{Unit: value.Millis, Kind: value.Integer}, q.zone)
			}
			t.Interrupts = !end.IsZero() && gap < -overlap
			if at.to.After(end) {
				end = at.to
			}
		}
		out = append(out, t)
	})
	return out, err
}

// sameCaller returns the calls of the same caller that came before and after a call, at most three
// of each.
func (q *request) sameCaller(ctx context.Context, id string) (out []choice, err error) {
	rows, err := q.house.SQL(ctx, `WITH this AS (SELECT caller AS number, start_at AS began FROM calls WHERE call_id = ?)
		SELECT call_id, start_at, start_at > began FROM calls, this WHERE caller = number AND start_at <> began
		QUALIFY row_number() OVER (PARTITION BY start_at > began ORDER BY abs(epoch_ms(start_at) - epoch_ms(began))) <= 3
		ORDER BY start_at, call_id`, id)
	err = each(ctx, rows, err, func(row []any) {
		call, _ := row[0].(string)
		at, _ := row[1].(time.Time)
		text := "earlier: "
		if later, _ := row[2].(bool); later {
			text = "later: "
		}
		out = append(out, choice{Text: text + at.In(q.zone).Format("2006-01-02 15:04"), Link: q.address("call", question.Params{Call: call})})
	})
	return out, err
}

// agentOf returns the name of a call's agent; empty: unknown.
func (q *request) agentOf(ctx context.Context, id string) (name string, err error) {
	rows, err := q.house.SQL(ctx, "SELECT name FROM agents WHERE agent_id = (SELECT agent_id FROM calls WHERE call_id = ?)", id)
	err = each(ctx, rows, err, func(row []any) { name, _ = row[0].(string) })
	return name, err
}
