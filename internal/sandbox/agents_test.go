package sandbox

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// same fails unless two values have the same JSON.
func same(t testing.TB, what string, got any, want string) {
	t.Helper()
	var w any
	decode(t, []byte(want), &w)
	test.Same(t, w, got, "%s (-want +got)", what)
}

func member(o any, names ...string) any {
	for _, name := range names {
		m, _ := o.(map[string]any)
		o = m[name]
	}
	return o
}

// everyTool lists the tools of the contract with all their settings.
const everyTool = `[
	{"toolType":"transfer_call","name":"hand_over","speakDuringExecution":{"enabled":true,"messages":["One moment."]},"allowInterruptionDuringExecution":false,"responseMode":"wait",
	 "transferConfigurations":[{"number":"0212345678","condition":"asks for a person"}],"transferType":"warm","displayedCallerId":"agent","transferMessageType":"prompt",
	 "warmTransferPrompt":"Say who calls.","warmTransferStaticSentence":null,"sipHeaders":{"X-Queue":"7"}},
	{"toolType":"transfer_agent","agent":{"agentId":%q},"preserveChatContext":true,"responseMode":"wait"},
	{"toolType":"send_sms","smsMessageType":"static","smsMessagePrompt":null,"smsMessageStaticSentence":"Hello","smsMessageStaticTitle":"Hi","smsMessageStaticImageFileKeys":["a"],"smsFromNumber":"0212345678"},
	{"toolType":"send_dtmf","speakDuringExecution":{"enabled":false},"allowInterruption":true,"responseMode":"continue"},
	{"toolType":"skill","skill":{"skills":[{"id":"s1","name":"greet"}],"initSkillId":"s1","initSkillName":"greet"}}
]`

const smallFlow = `{"nodes":[{"id":"start","type":"conversation","data":{"prompt":"Hi","allowInterruption":true}},{"id":"end","type":"end","data":{}}],
	"edges":[{"id":"e1","source":"start","target":"end"}],"viewport":{"x":0,"y":0,"zoom":1}}`

func TestCreateAgent(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}})
	other := s.World().Agents()[0].ID.String()
	tools := fmt.Sprintf(everyTool, other)
	status, agent := send(t, s, "POST", "/v3/agents", `{"name":"Front desk","data":{"prompt":{"prompt":"Be kind."},"webhookSettings":{"callDataWebhookUrl":"https://hooks.example/x"},
		"knowledge":{"ragEnabled":true,"knowledgeIds":[1001]},"builtInTools":`+tools+`}}`)
	if status != 200 || agent["type"] != "single_prompt" || agent["created_at"] != float64(busy.UnixMilli()) ||
		agent["production_version"] != nil {
		t.Fatalf("%d %v", status, agent)
	}
	id := agent["id"].(string)
	_, found := send(t, s, "GET", "/v3/agents/"+id, "")
	test.Same(t, agent, found, "what was made is not what is there")
	same(t, "tool objects are kept as sent", member(found, "data", "builtInTools"), tools)
	same(t, "webhookVersion has no default value", member(found, "data", "webhookSettings"),
		`{"callDataWebhookUrl":"https://hooks.example/x"}`)
	if _, list := send(t, s, "GET", "/v3/agents?limit=1", ""); member(list["items"].([]any)[0], "id") != id {
		t.Errorf("the newest agent is not the first of the list: %v", list)
	}
	if _, versions := send(t, s, "GET", "/v3/agents/"+id+"/versions", ""); versions["total_count"] != 0.0 {
		t.Errorf("versions of an agent that was never published: %v", versions)
	}
	_, flow := send(t, s, "POST", "/v3/agents", `{"name":"Flow","flow":`+smallFlow+`}`)
	same(t, "flow is kept as sent", flow["flow"], smallFlow)
	if flow["type"] != "flow" || flow["id"] == id {
		t.Errorf("%v", flow)
	}
	_, old := send(t, s, "POST", "/v3/agents", `{"name":"Old","flow_data":{"nodes":[{"x":1}]}}`)
	same(t, "flow_data is kept as sent", old["flow_data"], `{"nodes":[{"x":1}]}`)
	_, v2 := send(t, s, "POST", "/v2/agents/list", "{}")
	names := map[any]any{}
	for _, a := range v2["agents"].([]any) {
		names[member(a, "agent_id")] = member(a, "agent_name")
	}
	if names[id] != "Front desk" || float64(len(names)) != v2["total_count"] || names[other] == nil {
		t.Errorf("agents of v2: %v", v2)
	}
	if edits := s.Organisation().Edits("agents", busy.Add(-time.Second), s.Now()); len(edits) != 3 {
		t.Errorf("the log of edits has %d", len(edits))
	}
}

func TestPatchAgentRules(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}})
	made := map[string]string{"computed": s.World().Agents()[1].ID.String()}
	_, a := send(t, s, "POST", "/v3/agents", `{"name":"Mine","data":{"speech":{"responsiveness":0.5,"boostedKeywords":"a,b"},"stt":{"languages":["ko"]}}}`)
	made["written"] = a["id"].(string)
	for name, id := range longtest.Sorted(made, 2) {
		t.Run(name, func(t *testing.T) {
			path := "/v3/agents/" + id
			patch := func(want int, body string) map[string]any {
				t.Helper()
				status, o := send(t, s, "PATCH", path, body)
				if status != want {
					t.Fatalf("PATCH %s: %d %v", body, status, o)
				}
				return o
			}
			_, was := send(t, s, "GET", path, "")
			tools := fmt.Sprintf(everyTool, made["computed"])
			is := patch(200, `{"data":{"speech":{"responsiveness":0.9},"builtInTools":`+tools+`}}`)
			same(t, "1: sub-settings omitted from data keep their current values", member(is, "data", "speech"),
				fmt.Sprintf(`{"responsiveness":0.9,"boostedKeywords":%q}`, member(was, "data", "speech", "boostedKeywords")))
			stt, _ := json.Marshal(member(was, "data", "stt"))
			same(t, "1: settings omitted from data keep their current values", member(is, "data", "stt"), string(stt))
			test.Same(t, was["name"], is["name"], "the name")
			is = patch(200, `{"data":{"stt":{"languages":["ko","en"]}}}`)
			same(t, "an array takes the place of the old one", member(is, "data", "stt", "languages"), `["ko","en"]`)
			same(t, "2: builtInTools omitted: built-in tools are unchanged", member(is, "data", "builtInTools"), tools)
			if e := patch(400, `{"data":{"builtInTools":null}}`); member(e, "error", "code") != "VALIDATION_ERROR" ||
				member(e, "error", "details", "field") != "data.builtInTools" {
				t.Errorf("4: builtInTools null: %v", e)
			}
			is = patch(200, `{"data":{"builtInTools":[{"toolType":"send_dtmf"}]}}`)
			same(t, "5: the array replaces the old one entirely", member(is, "data", "builtInTools"), `[{"toolType":"send_dtmf"}]`)
			is = patch(200, `{"data":{"builtInTools":[]}}`)
			same(t, "3: an empty array removes all built-in tools", member(is, "data", "builtInTools"), `[]`)
			s.opts.Clock.Advance(time.Minute)
			is = patch(200, `{"name":"Other","flow":`+smallFlow+`}`)
			if is["name"] != "Other" || is["type"] != "flow" || is["updated_at"] != float64(s.Now().UnixMilli()) ||
				is["created_at"] != was["created_at"] {
				t.Errorf("%v", is)
			}
			_, found := send(t, s, "GET", path, "")
			test.Same(t, is, found, "what PATCH answered is not what is there")
		})
	}
}

func TestAgentRefusals(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}})
	path := "/v3/agents/" + s.World().Agents()[2].ID.String()
	before := s.Organisation().Truth("agents", s.Now())
	for body, field := range map[string]string{
		``: "", `[]`: "", `{}`: "", `{"data":null}`: "data", `{"data":[]}`: "data", `{"name":null}`: "name", `{"name":""}`: "name",
		`{"data":{"builtInTools":{}}}`:                                                                        "data.builtInTools",
		`{"data":{"builtInTools":[{"name":"x"}]}}`:                                                            "data.builtInTools.0.toolType",
		`{"data":{"knowledge":{"knowledgeIds":["1001"]}}}`:                                                    "data.knowledge.knowledgeIds.0",
		`{"data":{"knowledge":{"knowledgeIds":[1001,7]}}}`:                                                    "data.knowledge.knowledgeIds.1",
		`{"data":{"toolIds":["00000000"]}}`:                                                                   "data.toolIds.0",
		`{"data":{"llm":{"model":"nobody/none"}}}`:                                                            "data.llm.model",
		`{"data":{"voice":{"id":"voice-999","provider":"vox"}}}`:                                              "data.voice.id",
		`{"data":{"builtInTools":[{"toolType":"transfer_agent","agent":{"agentId":"1"}}]}}`:                   "data.builtInTools.0.agent.agentId",
		`{"flow":{"nodes":[]}}`:                                                                               "flow.edges",
		`{"flow":{"nodes":[],"edges":[]}}`:                                                                    "flow.nodes",
		`{"flow":{"nodes":[{"id":"a","type":"t","data":{}}],"edges":[{"id":"e","source":"a","target":"b"}]}}`: "flow.edges.0.target",
		`{"flow":{"nodes":[{"id":"a","type":"t","data":{}},{"id":"a","type":"t","data":{}}],"edges":[]}}`:     "flow.nodes.1.id",
		`{"flow":{"nodes":[{"id":"a","type":"t","data":{"knowledge":{"knowledgeIds":[7]}}}],"edges":[]}}`:     "flow.nodes.0.data.knowledge.knowledgeIds.0",
		`{"colour":"red"}`: "colour",
	} {
		status, o := send(t, s, "PATCH", path, body)
		got, _ := member(o, "error", "details", "field").(string)
		if status != 400 || got != field || member(o, "error", "code") != "VALIDATION_ERROR" {
			t.Errorf("%s: %d %v", body, status, o)
		}
	}
	if status, _ := send(t, s, "POST", "/v3/agents", `{"data":{}}`); status != 400 {
		t.Errorf("an agent without a name: %d", status)
	}
	if status, _ := send(t, s, "PATCH", "/v3/agents/7", `{"name":"x"}`); status != 404 {
		t.Errorf("an agent that is not there: %d", status)
	}
	if status, _ := send(t, s, "POST", "/v3/agents?x=1", `{"name":"x"}`); status != 400 {
		t.Errorf("a parameter that is not there: %d", status)
	}
	test.Same(t, before, s.Organisation().Truth("agents", s.Now()), "what was refused changed something")
}

// TestWritesMeetLimitsAndFaults checks that nothing is written above a limit, or with a fault.
func TestWritesMeetLimitsAndFaults(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}, PerSecond: 2, PerMinute: -1, LimitNow: func() time.Time { return busy }})
	test.OK(t, s.SetResourceFaults("agents", "500"))
	if status, _ := send(t, s, "POST", "/v3/agents", `{"name":"x"}`); status != 500 {
		t.Errorf("with a fault: %d", status)
	}
	test.OK(t, s.SetResourceFaults("agents"))
	for i, want := range []int{200, 429} {
		if status, _ := send(t, s, "POST", "/v3/agents", `{"name":"x"}`); status != want {
			t.Errorf("request %d: %d", i, status)
		}
	}
	if status, o := send(t, s, "POST", "/v2/agents/list", `{}`); status != 429 || o["detail"] == nil {
		t.Errorf("v2: %d %v", status, o)
	}
	if edits := s.Organisation().Edits("agents", busy.Add(-time.Second), s.Now()); len(edits) != 1 {
		t.Errorf("%d agents were made", len(edits))
	}
}
