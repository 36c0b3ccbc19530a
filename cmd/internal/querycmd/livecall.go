package querycmd

import (
	"context"
	"errors"
	"html/template"
	"io"
	"strings"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

// conversationItem is an item of a conversation: something said, or a tool's use or result.
type conversationItem struct {
	At, Who, Text string
	Role          string // user, agent, or tool
}

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

// conversation returns what was said in a call.
func (q *request) conversation(ctx context.Context, id string, start time.Time) (out []conversationItem, err error) {
	said, err := q.warehouse.Ask(ctx, analytics.Question{Report: "call", Params: question.Params{Call: id, CallStart: start}})
	if err != nil {
		return nil, err
	}
	err = each(ctx, said.Rows, nil, func(row []any) {
		t := conversationItem{Role: "tool"}
		t.Who, _ = row[2].(string)
		t.Text, _ = row[3].(string)
		if row[1] != nil {
			t.At = value.Cell(value.Of(row[1]), value.Column{Unit: value.Millis, Kind: value.Integer}, q.zone)
		}
		switch t.Who {
		case "user":
			t.Role, t.Who = t.Who, q.texts.Say("frame.caller")
		case "agent":
			t.Role, t.Who = t.Who, q.texts.Say("frame.agent")
		}
		out = append(out, t)
	})
	return out, err
}

// card is the page of a call.
type card struct {
	Frame                 frame
	Title, Agent, Summary string
	Recording             template.URL // at the service; empty if it can be played here
	Audio                 string       // address of the recording
	Facts                 [][2]cell    // names and values
	Turns                 []conversationItem
}

// card returns the facts of a call, with its agent by name.
func (q *request) card(ctx context.Context, id string) (out *card, err error) {
	out = &card{}
	if err := q.audio(ctx, id, out); err != nil {
		return nil, err
	}
	facts, err := q.warehouse.Card(ctx, id)
	if err != nil {
		return nil, err
	}
	columns := facts.Columns()
	err = each(ctx, facts, nil, func(row []any) {
		for i, c := range columns {
			if row[i] == nil {
				continue
			}
			v := q.cellOf(row[i], c)
			switch c.Name {
			case "summary":
				out.Summary = v.Text
				continue
			case "agent": // leads to the agent's page
				v.Link = q.address("page", question.Params{Agent: v.Text})
			case "agent_name": // follows it
				out.Agent = v.Text
				out.Facts[len(out.Facts)-1][1].Text = v.Text
				continue
			case "recording":
				text, _ := row[i].(string)
				link, _, _ := strings.Cut(text, " ")
				if out.Audio == "" && strings.HasPrefix(link, "https://") {
					out.Recording = template.URL(link) //nolint:gosec // it begins with https
				}
				if out.Audio != "" || strings.HasPrefix(link, "http") { // it has its own place
					continue
				}
			case "started":
				at, _ := row[i].(time.Time)
				if out.Title = q.texts.Time("minute", at.In(q.zone)); out.Agent != "" {
					out.Title = out.Agent + ", " + out.Title
				} else {
					out.Title = q.texts.Say("frame.call", out.Title)
				}
			}
			out.Facts = append(out.Facts, [2]cell{{Text: q.texts.Word("facts", c.Name)}, v})
		}
	})
	return out, err
}
