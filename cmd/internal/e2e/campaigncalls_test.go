package e2e

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

// A call's campaign comes from the list of the campaign's calls, or from the call itself, and
// equals the sandbox's. If the service refuses the list, the report says so, and calls have no
// campaign.
func TestCallsOfCampaigns(t *testing.T) {
	t.Parallel()
	tried, i := longtest.Each(3), 0
	for name, opts := range longtest.Sorted(map[string]sandbox.Options{
		"by the list": {}, "by the call": {CampaignInCalls: true, OldFilters: true}, "not at all": {OldFilters: true},
	}) {
		if i++; !tried(i - 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.World = sandbox.Config{Seed: 23, Calls: sized(400, 1200), Days: int(sized(8, 20)), Campaigns: 4}
			c := found(t, opts)
			// A client pauses one of them for an hour, and cancels another.
			held := 0
			for i, campaign := range c.service.Server.World().Campaigns(c.clock.Now().UnixMilli()) {
				path := "/v3/campaigns/" + organisation.CampaignID(campaign)
				status, _ := c.service.Server.Do("POST", path+"/pause", "")
				if status != 200 { // it is over, or has not started
					continue
				}
				if held++; i%2 == 0 {
					c.clock.Advance(time.Hour)
					if status, text := c.service.Server.Do("POST", path+"/resume", ""); status != 200 {
						t.Fatalf("%d %s", status, text)
					}
				}
			}
			if held == 0 {
				t.Fatal("no campaign could be paused")
			}
			c.clock.Advance(20 * time.Hour)
			said := c.mustExtract("--resources", "campaigns,campaign_calls").stderr
			now := c.clock.Now().UnixMilli()
			want := map[string]int64{}
			for _, campaign := range c.service.Server.World().Campaigns(now) {
				for _, d := range c.service.Server.World().Dials(campaign) {
					if d.Start <= now {
						want[organisation.CampaignID(campaign)]++
					}
				}
			}
			for v := range c.service.Server.World().Ordered(now, true) { // since the clients' actions
				want[v.Order.Campaign]++
			}
			if len(want) < 2 {
				t.Fatalf("the campaigns placed %v calls", want)
			}
			if name == "not at all" {
				want = map[string]int64{}
			}
			if refused := strings.Contains(said, "campaign_calls: 400"); refused != (opts.OldFilters) {
				t.Errorf("the report says:\n%s", said)
			}
			rows, err := csv.NewReader(strings.NewReader(c.query("outcomes", "--by", "campaign", "--format", "csv").stdout)).ReadAll()
			test.OK(t, err)
			got := map[string]int64{}
			for _, row := range rows[1:] {
				var calls int64
				_, err := fmt.Sscan(row[3], &calls)
				test.OK(t, err)
				if row[0] != "" {
					got[row[0]] += calls
				}
			}
			test.Same(t, want, got, "calls by campaign (-sandbox +query)")
		})
	}
}

// joins returns the statements under Joins in docs/reference/organisation.md, by their initial
// words in bold.
func joins(t *testing.T) map[string]string {
	t.Helper()
	text := test.Read(t, "../../../docs/reference/organisation.md")
	_, text2, _ := strings.Cut(string(text), "\n## Joins\n")
	section, _, _ := strings.Cut(text2, "\n## ")
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)\*\*([^*]+)\*\*[^\n]*\n(?:[^ \n][^\n]*\n)*\n((?:    [^\n]*\n)+)`).FindAllStringSubmatch(section, -1) {
		out[m[1]] = strings.TrimSpace(m[2])
	}
	if len(out) != 4 {
		t.Fatalf("docs/reference/organisation.md has %d joins", len(out))
	}
	return out
}

// line returns a row of an answer as text, without times.
func line(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

// names returns the texts of a list, sorted; null is empty.
func names(v any) string {
	var out []string
	list, _ := v.([]any)
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	slices.Sort(out)
	return strings.Join(out, "|")
}

// The statements of docs/reference/organisation.md return the sandbox's own facts about its
// organisation and calls.
func TestJoinsOfTheOrganisation(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 34, Calls: 200, Days: 2, Agents: 6},
		Organisation: organisation.Config{Pace: -1, Sizes: organisation.Sizes{"customers": 300, "knowledges": 6, "tools": 5}}})
	used := map[any]bool{}
	for v := range c.service.Server.World().Visible(c.clock.Now()) {
		for _, item := range v.Timeline(nil) {
			used[item.Tool] = used[item.Tool] || v.Transcript
		}
	}
	company := c.service.Server.Organisation()
	edit := func(of *resource.Resource, n int, fields objectJSON) objectJSON {
		t.Helper()
		o := company.Truth(of.Name, c.clock.Now())[n]
		test.OK(t, company.Edit(c.clock.Now(), of.Name, "", o.ID, fields))
		return o.Object
	}
	delete(used, "")
	for name := range used {
		edit(resource.Tools, 0, objectJSON{"name": name})
		break
	}
	tool := edit(resource.Tools, 1, objectJSON{"description": "in a node of a flow alone"})["id"]
	base := edit(resource.Knowledges, 5, objectJSON{"name": "in a node of a flow alone"})["id"]
	edit(resource.Agents, 0, objectJSON{"flow": objectJSON{"nodes": []any{objectJSON{"data": objectJSON{"toolIds": []any{tool}, "knowledge": objectJSON{"knowledgeIds": []any{base}}}}}}})
	c.clock.Advance(time.Hour)
	c.mustExtract("--resources", "all", "--country", "US")
	doc, now := joins(t), c.clock.Now()
	check := func(name string, want []string, of func(row map[string]any) string) {
		t.Helper()
		var got []string
		rows, _ := c.objectsOf("sql", doc[name])
		for _, row := range rows {
			got = append(got, of(row))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}

	type history struct{ calls, negative int }
	histories, carried := map[string]*history{}, map[string]int{}
	for v := range c.service.Server.World().Visible(now) {
		carried[v.Agent.ID.String()]++
		caller := v.From()
		if v.Agent.Direction == "outbound" {
			caller = v.To()
		}
		if v.Type == "web" || caller == "" {
			continue
		}
		h := histories[caller]
		if h == nil {
			h = new(history)
			histories[caller] = h
		}
		if h.calls++; v.Sentiment == "negative" {
			h.negative++
		}
	}
	var want []string
	calls := 0
	for key, o := range c.truth(resource.Customers, now) {
		var all history
		for _, i := range o["identifiers"].([]any) {
			i := i.(objectJSON)
			if h := histories[fmt.Sprint(i["value"])]; i["type"] == "phone" && h != nil {
				all.calls, all.negative = all.calls+h.calls, all.negative+h.negative
			}
		}
		calls += all.calls
		want = append(want, line(key, o["name"], all.calls, all.negative))
	}
	if calls < 5 {
		t.Errorf("customers have %d calls", calls)
	}
	check("The history of each customer.", want, func(row map[string]any) string {
		return line(row["customer_id"], row["name"], row["calls"], row["negative"])
	})

	agents := c.truth(resource.Agents, now)
	carriers := func(list func(settings objectJSON) any, id any) string {
		var all []any
		for _, a := range agents {
			settings := []objectJSON{a["data"].(objectJSON)}
			if flow, is := a["flow"].(objectJSON); is {
				for _, node := range flow["nodes"].([]any) {
					if data, is := node.(objectJSON)["data"].(objectJSON); is {
						settings = append(settings, data)
					}
				}
			}
			if slices.ContainsFunc(settings, func(s objectJSON) bool {
				ids, _ := list(s).([]any)
				return slices.Contains(ids, id)
			}) {
				all = append(all, a["name"])
			}
		}
		return names(all)
	}
	tools := func(s objectJSON) any { return s["toolIds"] }
	bases := func(s objectJSON) any {
		knowledge, _ := s["knowledge"].(objectJSON)
		return knowledge["knowledgeIds"]
	}
	want = nil
	for key, o := range c.truth(resource.Tools, now) {
		if !used[o["name"]] {
			want = append(want, line(key, o["name"], carriers(tools, o["id"])))
		}
	}
	check("Tools that were never called", want, func(row map[string]any) string { return line(row["tool_id"], row["name"], names(row["agents"])) })

	documents := map[string][2]int{}
	for _, o := range c.truth(resource.KnowledgeDocuments, now) {
		id := fmt.Sprint(o["knowledge_id"])
		n := documents[id]
		n[0]++
		if o["status"] == "failed" {
			n[1]++
		}
		documents[id] = n
	}
	want = nil
	for key, o := range c.truth(resource.Knowledges, now) {
		want = append(want, line(key, o["name"], documents[key][0], documents[key][1], carriers(bases, o["id"])))
	}
	check("Knowledge bases", want, func(row map[string]any) string {
		return line(row["knowledge_id"], row["name"], row["documents"], row["failed"], names(row["agents"]))
	})

	want = nil
	offered := c.truth(resource.LLMs, now)
	for key, o := range agents {
		data := o["data"].(objectJSON)
		voice, model := data["voice"].(objectJSON), data["llm"].(objectJSON)["model"]
		_, is := offered[strings.ReplaceAll(fmt.Sprint(model), "/", "%2F")]
		want = append(want, line(key, o["name"], model, is, fmt.Sprint(voice["provider"], "/", voice["id"]), carried[key]))
	}
	check("The models and voices of agents", want, func(row map[string]any) string {
		return line(row["agent_id"], row["name"], row["model"], row["offered"], row["voice"], row["calls"])
	})
}
