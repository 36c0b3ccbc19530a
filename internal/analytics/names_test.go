package analytics_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/analytics/value"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// namesakes returns a warehouse of agents and campaigns by id and name; the n-th in the list has n calls.
func namesakes(t *testing.T, agents, campaigns [][2]string) *analytics.Warehouse {
	t.Helper()
	d := analyticstest.Data{Others: map[*schema.Table][]row{}}
	for i, a := range agents {
		d.Others[resource.Agents.Table] = append(d.Others[resource.Agents.Table], row{"agent_id": a[0], "name": a[1]})
		for n := range i + 1 {
			d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(a[0], "-", n), "agent_id": a[0]})
		}
	}
	for i, c := range campaigns {
		d.Others[resource.Campaigns.Table] = append(d.Others[resource.Campaigns.Table], row{"campaign_id": c[0], "name": c[1]})
		for n := range 100 * (i + 1) {
			d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(c[0], "/", n), "agent_id": agents[0][0], "extra": fmt.Sprintf(`{"campaign_id":%q}`, c[0])})
		}
	}
	return warehouse(t, d, nil)
}

// A text selects an object only if it matches no other: by name, ignoring case, white space and
// Unicode composition, by a prefix of the id, or by both.
func TestNamesThatFitSeveral(t *testing.T) {
	t.Parallel()
	w := namesakes(t, [][2]string{
		{"a1111111-one", "Same"}, {"a1111111-two", "Same"}, {"b2222222-one", "same"}, {"c3333333-one", "Other"},
		{"d4444444-one", "b2"}, {"e5555555-one", "Café"}, {"e5555555-two", "Cafe\u0301"}, {"f6666666-one", "Night  Line "}, {"a7777777-one", "Line"}, {"x'y", "Quote"},
	}, [][2]string{{"c-1", "Spring"}, {"c-2", "spring"}, {"c-3", "Autumn"}})
	calls := func(p question.Params) (int64, error) {
		rows, err := askFor(t.Context(), w, "durations", p)
		if err != nil {
			return 0, err
		}
		got := all(t, rows, nil)
		if len(got) == 0 {
			return 0, nil
		}
		return got[0][0].(int64), nil
	}
	for text, want := range longtest.Sorted(map[string]any{
		"Same": 3, "same": 3, "SAME": 3, " same ": 3, // names that differ in case
		"Same (a1111111-o)": int64(601), "same (A1111111-T)": int64(2), "same (b2222222-o)": int64(3), "same (": 3, "Same (a1111111": 2,
		"a1111111": 2, "a1111111-one": int64(601), "a1": 2, "a": 6, // prefixes of ids, and names with an a
		"b2":   2, // the name of one object, and a prefix of another's id
		"café": 2, "CAFE\u0301": 2, "Other": int64(4), "oth": int64(4), "night line": int64(8), "line": int64(9), "night": int64(8), "d4": int64(5), "x'": int64(10), "x'y": int64(10),
	}, 3) {
		for _, p := range longtest.Some(3, []question.Params{{Agent: text}, {Where: []string{"agent=" + text}}, {Where: []string{"agent=" + text, "agent=c3333333-one"}}}) {
			got, err := calls(p)
			var ambiguous *question.AmbiguousError
			switch n, one := want.(int64); {
			case one && len(p.Where) == 2 && n != 4:
				n += 4
				fallthrough
			case one:
				if got != n || err != nil {
					t.Errorf("%+v: %d calls, %v, want %d", p, got, err, n)
				}
			case !errors.As(err, &ambiguous) || len(ambiguous.IDs) != want.(int):
				t.Errorf("%+v: %d calls, %v, want %d agents to choose from: %+v", p, got, err, want, ambiguous)
			case len(slices.Compact(slices.Sorted(slices.Values(ambiguous.IDs)))) != len(ambiguous.IDs) || !strings.Contains(ambiguous.IDs[0], "-"):
				t.Errorf("%+v: the choice is %q", p, ambiguous.IDs)
			}
		}
	}
	for text, want := range map[string]any{"Spring": 2, "SPRING": 2, "c-1": int64(100), "autumn": int64(300), "c-9": int64(0), "": int64(55)} {
		got, err := calls(question.Params{Where: []string{"campaign=" + text}})
		var ambiguous *question.AmbiguousError
		if n, one := want.(int64); one && (got != n || err != nil) || !one && (!errors.As(err, &ambiguous) || len(ambiguous.IDs) != want.(int)) {
			t.Errorf("campaign %q: %d calls, %v, want %v", text, got, err, want)
		}
	}
	var unknown *question.UnknownError
	for _, p := range []question.Params{{Agent: "nobody"}, {Where: []string{"agent=nobody"}}} {
		if _, err := calls(p); !errors.As(err, &unknown) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// The labels of objects differ for every reader, and each label selects its object.
func TestLabelsDiffer(t *testing.T) {
	t.Parallel()
	agents := [][2]string{
		{"a1111111-one", "Same"}, {"a1111111-two", "Same"}, {"a1111111-three", "SAME"}, {"b2222222", "same"}, {"b2222222-2", " Same"},
		{"c3333333-one", "Unique"}, {"d4444444-one", "Twin"}, {"d5555555-one", "Twin"}, {"e6666666-one", "Twin (d4444444)"}, {"short", "Twin"}, {"é7777777é", "twin"},
	}
	w := namesakes(t, agents, nil)
	seen, tried := map[string]bool{}, longtest.Each(4)
	for i, r := range rowsOf(t, w, "durations", question.Params{By: "agent", NamesInPlace: true}) {
		label := r[0].(string)
		if folded := strings.ToLower(strings.TrimSpace(label)); seen[folded] {
			t.Errorf("%q is there twice", label)
		} else {
			seen[folded] = true
		}
		if !tried(i) {
			continue
		}
		if got := rowsOf(t, w, "durations", question.Params{Agent: label})[0][0]; got != r[1] {
			t.Errorf("%q selects %v calls, want %v", label, got, r[1])
		}
	}
	if len(seen) != len(agents) || !seen["unique"] || !seen["same (a1111111-tw)"] {
		t.Errorf("the labels are %v", seen)
	}
}

// calls has the current name of each call's agent, and no reader sees a name there that the table
// agents hides from that reader.
func TestAgentNamesOfCalls(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := analyticstest.Data{Others: map[*schema.Table][]row{resource.Agents.Table: {
		{"agent_id": "a", "name": "it's \"new\""}, {"agent_id": "b", "name": "Gone", "deleted_at": int64(5)}, {"agent_id": "d"}, {"agent_id": "e", "name": "Silent"}}}}
	for _, id := range []string{"a", "b", "c", "d"} {
		d.Calls = append(d.Calls, row{"call_id": "of-" + id, "agent_id": id})
	}
	d.Calls = append(d.Calls, row{"call_id": "of-none"})
	analyticstest.Write(t, root, 1, d)
	for i, x := range longtest.Some(3, []struct {
		rights      rights.Rights
		want, known string
	}{
		{rights.Rights{}, `[of-a it's "new"][of-b Gone][of-c <nil>][of-d <nil>][of-none <nil>]`, `[a, b, e]`},
		{rights.Rights{Agents: []string{"b", "c"}}, `[of-b Gone][of-c <nil>]`, `[b]`},
		{rights.Rights{Tables: []string{"calls"}}, `[of-a <nil>][of-b <nil>][of-c <nil>][of-d <nil>][of-none <nil>]`, `<nil>`},
		{rights.Rights{Tables: []string{"calls", "agents"}, Agents: []string{"a"}}, `[of-a it's "new"]`, `[a]`},
		{rights.Rights{Masked: []string{"agents.name"}}, `[of-a <nil>][of-b <nil>][of-c <nil>][of-d <nil>][of-none <nil>]`, `<nil>`},
		{rights.Rights{Masked: []string{"calls.agent_id"}}, `[of-a <nil>][of-b <nil>][of-c <nil>][of-d <nil>][of-none <nil>]`, `[a, b, e]`},
	}) {
		for _, safe := range []*database.Limits{nil, {Memory: 256 << 20, Temp: 1 << 20}} {
			if !longtest.On() && (safe == nil) == (i > 0) {
				continue
			}
			w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Threads: 1, Rights: x.rights, Safe: safe}})
			test.OK(t, err)
			defer w.Close()
			cells := func(rows *analytics.Rows, err error) (out string) {
				at := func(name string) int {
					return slices.IndexFunc(rows.Columns(), func(c value.Column) bool { return c.Name == name })
				}
				if err != nil {
					return err.Error()
				}
				got := all(t, rows, nil)
				slices.SortFunc(got, func(a, b []any) int { return strings.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
				for _, r := range got {
					out += fmt.Sprintf("[%v %v]", r[at("call_id")], r[at("agent_name")])
				}
				return out
			}
			if got := cells(w.SQL(t.Context(), "FROM calls")); got != x.want {
				t.Errorf("%+v: calls are %s, want %s", x.rights, got, x.want)
			}
			if got := cells(w.Table(t.Context(), "calls", question.Params{})); got != x.want {
				t.Errorf("%+v: the table is %s, want %s", x.rights, got, x.want)
			}
			if safe != nil {
				continue
			}
			rows, err := w.SQL(t.Context(), "SELECT CAST(map_keys(agent_names()) AS VARCHAR)")
			test.OK(t, err)
			if got := fmt.Sprint(all(t, rows, nil)[0][0]); got != x.known {
				t.Errorf("%+v: known are %s, want %s", x.rights, got, x.known)
			}
		}
	}
}
