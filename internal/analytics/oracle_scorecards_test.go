package analytics_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
)

// randomEvaluation returns an evaluation in one of the shapes that the service may send: its
// documentation only promises an object.
func randomEvaluation(r *rand.Rand, call int) any {
	score := pick(r, []string{"4", "4.0", "4.5", "-3", "1e2", "0.125", "12345678901234", "1e300", fmt.Sprint(r.IntN(100))})
	yes := pick(r, []string{"true", "false", "true"})
	deep := `"deep"`
	for range 6 + r.IntN(4) {
		deep = `{"d":` + deep + `}`
	}
	return pick(r, []any{nil, nil, "{}", "null", `"good"`, "[]", "[1,2]", "7",
		`{"task_completed":` + yes + `}`, `{"task_completed":` + yes + `}`, `{"task_completed":"` + yes + `"}`, `{"task_completed":null}`,
		fmt.Sprintf(`{"task_completed":%s,"scores":{"tone":%s,"말투":%d,"a.b":null},"reason":"because of %d","step":"s%d","topic":"t%d","grade":%q}`,
			yes, score, r.IntN(6), call, r.IntN(10), r.IntN(11), pick(r, []string{"A", "B", "it's"})),
		fmt.Sprintf(`{"criteria":[{"name":"greeting","score":%s,"passed":%s},{"name":"closing","passed":%s,"name_of":"x","steps":[]}]}`, score, yes, yes),
		`{"criteria":[{"name":"greeting","score":3},{"name":"greeting","score":` + score + `},{"name":"alone"},{"name":7,"ok":` + yes + `}]}`,
		`{"criteria":[{"name":"greeting"},{"title":"closing"}],"notes":["a","b"],"of":{"none":{}}}`, deep,
	})
}

// finding is a value of an evaluation.
type finding struct {
	criterion  any
	kind, text string
}

// findings returns the values of an evaluation, by the rules of docs/reference/queries.md.
func findings(raw string) (out []finding) {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	var walk func(v any, path []string, listed bool)
	walk = func(v any, path []string, listed bool) {
		f := finding{}
		if path != nil {
			f.criterion = strings.Join(path, ".")
		}
		deeper := func(step string, v any, listed bool) { walk(v, append(slices.Clone(path), step), listed) }
		switch v := v.(type) {
		case nil:
			f.kind = "null"
		case bool:
			f.kind, f.text = "boolean", fmt.Sprint(v)
		case string:
			f.kind, f.text = "string", v
		case json.Number:
			n, _ := new(big.Rat).SetString(v.String())
			f.kind, f.text = "number", decimalOf(n)
			if n.Cmp(big.NewRat(1e13, 1)) >= 0 {
				f.kind = "unread number"
			}
		case []any:
			f.kind = "array"
			if len(path) < 8 && len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { m, _ := e.(map[string]any); return m["name"] == nil }) {
				for _, e := range v {
					deeper(fmt.Sprint(e.(map[string]any)["name"]), e, true)
				}
				return
			}
		case map[string]any:
			f.kind = "object"
			members := 0
			if len(path) < 8 {
				for name, inner := range v {
					if !listed || name != "name" {
						deeper(name, inner, false)
						members++
					}
				}
			}
			if members > 0 {
				return
			}
		}
		out = append(out, f)
	}
	walk(v, nil, false)
	return out
}

// findingsOf returns the values from all calls of a group, and the number of calls that have any.
func findingsOf(g *group) (all []finding, evaluated int) {
	for _, c := range g.calls {
		if raw, ok := c["evaluation"].(string); ok {
			evaluated++
			all = append(all, findings(raw)...)
		}
	}
	return all, evaluated
}

func scorecardsOf(g *group) (out [][]any) {
	all, evaluated := findingsOf(g)
	type about struct {
		criterion any
		kind      string
	}
	judged, ofCriterion := map[about][]string{}, map[any]int{}
	for _, f := range all {
		judged[about{f.criterion, f.kind}] = append(judged[about{f.criterion, f.kind}], f.text)
		ofCriterion[f.criterion]++
	}
	for a, texts := range judged {
		n := len(texts)
		add := func(v any, values any, hits int) []any {
			line := []any{g.key, a.criterion, a.kind, v, values, int64(n), nil, nil, nil, nil, nil, nil, nil, nil, nil, int64(evaluated), percentOf(evaluated, len(g.calls))}
			if v != nil {
				line[6], line[7] = int64(hits), percentOf(hits, n)
				line[8], line[9] = wilson(hits, n)
			}
			out = append(out, line)
			return line
		}
		of := map[string]int{}
		for _, t := range texts {
			of[t]++
		}
		switch a.kind {
		case "boolean":
			add("true", nil, of["true"])
		case "string":
			if len(of) > 10 {
				add(nil, int64(len(of)), 0)
				continue
			}
			for t, hits := range of {
				add(t, int64(1), hits)
			}
		case "number":
			line, total := add(nil, nil, 0), new(big.Rat)
			var numbers []*big.Rat
			var amounts []float64
			for _, t := range texts {
				v, _ := new(big.Rat).SetString(t)
				f, _ := v.Float64()
				numbers, amounts = append(numbers, v), append(amounts, f)
				total.Add(total, v)
			}
			slices.SortFunc(numbers, (*big.Rat).Cmp)
			line[10] = total.Quo(total, big.NewRat(int64(n), 1)).FloatString(4)
			line[13], line[14] = decimalOf(numbers[0]), decimalOf(numbers[n-1])
			if n >= 10 {
				_, low, high := meanBounds(amounts, 1.959963984540054)
				line[11], line[12] = number4(low), number4(high)
			}
		default:
			add(nil, nil, 0)
		}
	}
	slices.SortFunc(out, func(a, b []any) int {
		hits := func(line []any) int64 { n, _ := line[6].(int64); return n }
		text := func(v any) string { // nulls last
			if v == nil {
				return "\xff"
			}
			return v.(string)
		}
		return cmp.Or(cmp.Compare(ofCriterion[b[1]], ofCriterion[a[1]]), cmp.Compare(text(a[1]), text(b[1])), cmp.Compare(a[2].(string), b[2].(string)),
			cmp.Compare(hits(b), hits(a)), cmp.Compare(text(a[3]), text(b[3])))
	})
	return out
}

// number4 rounds to four decimals.
func number4(f float64) float64 {
	r, _ := new(big.Rat).SetString(new(big.Rat).SetFloat64(f).FloatString(4))
	out, _ := r.Float64()
	return out
}
