package page

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/page/texts"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

// finding is a figure that changed by more than chance.
type finding struct {
	Name, What string
	Now, Was   shown
	Change     *change
	Command    command // prints the figure
	Link       string  // to the agent's page
	strength   float64 // size of the change relative to chance
}

// namedFindings is the number of changes of agents, reasons and tools shown.
const namedFindings = 6

// findings are the changes between two periods: of the key figures, and the clearest of the shares
// of agents, reasons and tools.
type findings struct {
	Lead, Left string
	Rows       []finding
	Commands   []command // commands that print these changes
}

// family is a share in the rows of a report that is compared with the previous period: of the row's
// calls, counted in one column but not in another, or of the calls of all rows.
type family struct {
	report, key, share string
	of, less           string
	figure
}

func (l *lang) families() []family {
	of := func(what string, s sense, name string) figure {
		return figure{name: "findings." + name, what: l.Say("findings." + what), sense: s, more: l.Say("change.more"),
			less: l.Say("change.fewer")}
	}
	return []family{
		{"agents", "agent_id", "goal_percent", "answered_calls", "", of("of_answered", higherIsBetter, "agent")},
		{"agents", "agent_id", "negative_percent", "rated_calls", "", of("of_rated", lowerIsBetter, "agent_negative")},
		{"disconnections", "disconnection_reason", "share_percent", "", "", of("of_calls", neither, "reason")},
		{"tools", "tool_name", "failed_percent", "uses", "unanswered_uses", of("of_uses", lowerIsBetter, "tool")},
	}
}

// was is the prefix of the previous period's columns in a comparison.
const was = value.PreviousOf

// whole returns the denominator of a row's share; prefix selects the period.
func (f family) whole(a *asked, row []any, prefix string) (n int64) {
	number := func(row []any, column string) int64 { n, _ := row[a.index(prefix+column)].(int64); return n }
	switch {
	case f.less != "":
		return number(row, f.of) - number(row, f.less)
	case f.of != "":
		return number(row, f.of)
	}
	for _, row := range a.rows {
		n += number(row, "calls")
	}
	return n
}

// usualReasons end calls that may have succeeded, or met a machine. Fewer calls with others are better.
var usualReasons = []string{"user_hangup", "agent_hangup", "call_transfer", "operator_hangup", "voicemail_reached"}

// changes returns the rows of a family that changed by more than chance.
func (r reader) changes(f family, a *asked) (out []finding) {
	names := a.shortNames()
	for i, row := range a.rows {
		n, m := float64(f.whole(a, row, "")), float64(f.whole(a, row, was))
		if row[a.index(f.key)] == nil || !a.clear(row, f.share) {
			continue
		}
		key, name := a.text(row[a.index(f.key)]), names[i]
		if f.report == "disconnections" {
			word := r.l.Word("reason", key)
			if name = texts.Clip(word, 40); word != key && !slices.Contains(usualReasons, key) {
				f.sense = lowerIsBetter
			}
		}
		link := a.calls(map[string]string{f.key: a.text(a.exact[i][a.index(f.key)])})
		show := func(column string) shown {
			return shown{cell: a.cell(row[a.index(column)], column), Command: a.Command, Column: column, Where: f.key + "=" + key, Link: link}
		}
		now, before := float(row[a.index(f.share)]), float(row[a.index(was+f.share)])
		both := (now*n + before*m) / (n + m) / 100
		title, onward := r.l.Say(f.name, name), ""
		if f.report == "agents" {
			onward = a.page(a.id(i, f.key))
		}
		if f.share == "goal_percent" && row[a.index("goal")] != completed {
			title = r.l.Say(f.name+"_goal", name)
		}
		out = append(out, finding{Name: title, What: f.what, Now: show(f.share), Was: show(was + f.share),
			Change: r.l.change(now, before, f.figure, r.l.points(now-before), true), Command: a.Command, Link: onward,
			strength: math.Abs(now-before) / 100 / math.Sqrt(both*(1-both)*(1/n+1/m))})
	}
	return out
}

// findings compares a period with the previous one, unless a condition excludes all calls of
// either.
func (r reader) findings(ctx context.Context, p period, figures []figure, b *beside) (*findings, error) {
	out := &findings{Lead: r.l.Say("findings.lead", r.l.period(p), r.l.period(b.before.period))}
	for _, f := range figures {
		if change := b.against(f); change != nil && f.field.column != "calls" && b.clear(f) {
			c := b.now.reports[f.report].Command
			c.Text = strings.Replace(c.Text, " --since", compare+" --since", 1)
			out.Rows = append(out.Rows, finding{Name: f.name, What: f.what, Now: b.now.shown(f), Was: b.before.shown(f), Change: change, Command: c})
		}
	}
	var many []finding
	answers := map[string]*asked{}
	for _, f := range r.l.families() {
		if answers[f.report] == nil {
			a, err := r.compare(ctx, f.report, p)
			var alone *question.GroupError
			if errors.As(err, &alone) {
				break
			}
			if analytics.Denied(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			answers[f.report] = a
		}
		many = append(many, r.changes(f, answers[f.report])...)
	}
	slices.SortStableFunc(many, func(a, b finding) int { return cmp.Compare(b.strength, a.strength) })
	if left := len(many) - namedFindings; left > 0 {
		many = many[:namedFindings]
		out.Left = r.l.Say("findings.left", left)
	}
	out.Rows = append(out.Rows, many...)
	for _, f := range out.Rows {
		if !slices.Contains(out.Commands, f.Command) {
			out.Commands = append(out.Commands, f.Command)
		}
	}
	return out, nil
}
