package answer

import (
	"context"
	"strings"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/question"
)

// ForTab bounds a search for completions to a second, since a Tab must not block the shell, unless
// the context has a deadline.
func ForTab(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Second)
}

// Conditions returns the names of conditions while the name of a --where is being typed.
func Conditions(flag, typed string) (out []string, ok bool) {
	if flag != "where" || strings.Contains(typed, "=") {
		return nil, false
	}
	for _, name := range question.Dimensions() {
		if doc, free := strings.CutSuffix(name, "KEY"); free {
			out = append(out, doc)
		} else {
			out = append(out, name+"=")
		}
	}
	return out, true
}

// Completions returns the values of the warehouse that begin with what was typed for --where or
// --agent, the most frequent first. It returns none if the search takes too long.
func Completions(ctx context.Context, w *analytics.Warehouse, flag, typed string) (out []string) {
	name, begin, before := "agent", typed, ""
	if flag == "where" {
		name, begin, _ = strings.Cut(typed, "=")
		before = name + "="
	}
	values, err := w.Values(ctx, name, begin)
	if err != nil {
		return nil
	}
	for _, v := range values {
		out = append(out, before+v)
	}
	return out
}
