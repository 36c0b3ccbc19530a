package analytics_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
)

// successOf counts the calls in which a field was found, and those in which it had the wanted
// value.
func successOf(g *group, items map[any][]row, p question.Params, unit any) (out [][]any) {
	g = &group{key: g.key, calls: inUnit(g.calls, unit)}
	asked, wanted, _ := strings.Cut(p.Field, "=")
	if p.Field == "" {
		wanted = "true"
	}
	type tally struct {
		known, hits, costed, inUnit int
		cost                        *big.Int
		anyCost                     bool
	}
	fields := map[any]*tally{}
	for _, c := range g.calls {
		found := map[any]bool{}
		for _, i := range items[c["call_id"]] {
			yesOrNo := i["value"] == "true" || i["value"] == "false"
			if i["text"] == nil || p.Field == "" && !yesOrNo || p.Field != "" && i["name"] != asked {
				continue
			}
			found[i["name"]] = found[i["name"]] || i["text"] == wanted
		}
		for name, hit := range found {
			f := fields[name]
			if f == nil {
				f = &tally{cost: new(big.Int)}
				fields[name] = f
			}
			f.known++
			u, costed := units(c)
			if costed {
				f.cost.Add(f.cost, u)
				f.anyCost = true
				f.inUnit++
			}
			if hit {
				f.hits++
				if costed {
					f.costed++
				}
			}
		}
	}
	for name, f := range fields {
		low, high := wilson(f.hits, f.known)
		line := []any{g.key, name, wanted, int64(f.known), int64(f.hits), percentOf(f.hits, f.known), low, high, nil, unit, int64(f.inUnit), nil}
		if f.anyCost {
			line[8], line[11] = money(f.cost, 1), money(f.cost, int64(f.costed))
		}
		out = append(out, line)
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i][3].(int64), out[j][3].(int64); a != b {
			return a > b
		}
		return keyLess(out[i][1], out[j][1])
	})
	return out
}

// withField returns the calls in which a field was found, once for each field.
func withField(calls []row, items map[any][]row, p question.Params) (out []row) {
	asked, _, _ := strings.Cut(p.Field, "=")
	for _, c := range calls {
		found := map[any]bool{}
		for _, i := range items[c["call_id"]] {
			yesOrNo := i["value"] == "true" || i["value"] == "false"
			if i["text"] != nil && (p.Field != "" || yesOrNo) && (p.Field == "" || i["name"] == asked) && !found[i["name"]] {
				found[i["name"]] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// aim is the goal by which versions and agents are judged: the calls that count, and those that
// succeed.
type aim struct {
	of, hit func(row) bool
	isField bool
}

func aimOf(items map[any][]row, p question.Params) aim {
	name, wanted, isField := strings.Cut(p.Field, "=")
	if !isField {
		return aim{answered, completed, false}
	}
	found := func(c row, is func(any) bool) bool {
		for _, i := range items[c["call_id"]] {
			if i["name"] == name && i["text"] != nil && is(i["text"]) {
				return true
			}
		}
		return false
	}
	return aim{
		func(c row) bool { return found(c, func(any) bool { return true }) },
		func(c row) bool { return found(c, func(v any) bool { return v == wanted }) },
		true,
	}
}

// costOfSuccess returns the number of successes with a cost, and the cost of one.
func costOfSuccess(calls []row, aim aim) []any {
	if !aim.isField {
		return nil
	}
	sum, costed, found := new(big.Int), 0, false
	for _, c := range calls {
		if u, ok := units(c); ok && aim.of(c) {
			sum.Add(sum, u)
			found = true
			if aim.hit(c) {
				costed++
			}
		}
	}
	if !found {
		return []any{nil, int64(costed), nil}
	}
	return []any{money(sum, 1), int64(costed), money(sum, int64(costed))}
}

// A user names a field that defines success, also one with texts or numbers: the report success
// counts it, and versions, agents and costs are judged by it.
func TestSuccess(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(8, 7)), 200)
	w := warehouse(t, d, nil)
	tried, n := longtest.Each(6), 0
	for _, field := range []string{"", "colour=true", "colour=red", "size=1.5", "size=v7", "colour="} {
		for _, by := range []string{"", "agent", "agent,week"} {
			for i, report := range []string{"success", "versions", "agents", "costs"} {
				if i > 0 && (by == "agent" || !slices.Contains([]string{"colour=true", "size=1.5"}, field)) {
					continue
				}
				if n++; !tried(n - 1) {
					continue
				}
				p := question.Params{By: by, Field: field}
				rows, err := w.Report(t.Context(), report, p)
				if d := diffNear(oracle(report, d, p, w.Location()), all(t, rows, err)); d != "" {
					t.Errorf("%s, %+v (-oracle +report):\n%s", report, p, d)
				}
			}
		}
	}
	_, err := w.Report(t.Context(), "success", question.Params{Field: "resolved"})
	if err == nil {
		t.Error("a field without a value is taken")
	}
	_, err = w.Report(t.Context(), "costs", question.Params{Field: "color=1"})
	var u *question.UnknownError
	if !errors.As(err, &u) || u.Nearest != "colour" {
		t.Errorf("a field that no call has: %v", err)
	}
}
