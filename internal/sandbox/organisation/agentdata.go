package organisation

import (
	"fmt"
	"strings"

	"callhouse/internal/sandbox/dice"
)

// Secret is part of every value that a client must not store: tokens in tools'
// headers and in the addresses of webhooks and channels.
const Secret = "hush-hush-"

func secret(h uint64) string { return fmt.Sprintf("%s%016x", Secret, dice.Mix(h)) }

// advice is what prompts are put together from.
var advice = [...]string{
	"Ask one question at a time and wait for the answer.",
	"Confirm every date and every amount by repeating it.",
	"Never promise a refund; offer a call back instead.",
	"If the caller sounds upset, apologise once and move on.",
	"Spell out numbers digit by digit.",
	"Do not give medical, legal or financial advice.",
	"Keep answers below two sentences.",
	"Transfer the call when the caller asks for a person twice.",
	"고객의 이름을 한 번만 부르고, 존댓말을 사용하세요.",
	"통화를 마치기 전에 다른 문의가 있는지 확인하세요.",
	"Say goodbye only after the caller has.",
	"When a tool fails, try it once more, then go on without it.",
}

// data are an agent's settings in one revision, chosen by h.
func (p *profile) data(h uint64) Object {
	d := dice.New(h)
	var actions []any
	for kind, name := range p.Extractions() {
		a := Object{"name": name, "type": kind, "isNullable": d.Chance(.3), "description": "What the caller said about " + strings.ReplaceAll(name, "_", " ")}
		if kind == "enum" {
			a["enumOptions"] = []any{"yes", "no", "unclear"}
		}
		actions = append(actions, a)
	}
	var tools []any
	for range d.Below(3) {
		tools = append(tools, Object{
			"toolType": "transfer_call", "name": "transfer_call", "description": "Hand the caller over to " + p.staff(),
			"transferType": "cold", "displayedCallerId": "agent", "speakDuringExecution": Object{"enabled": true, "messages": []any{"One moment."}},
			"allowInterruptionDuringExecution": false, "responseMode": "wait",
		})
	}
	webhooks := any(nil)
	if p.key%3 == 0 {
		webhooks = Object{
			"callDataWebhookUrl":    "https://hooks.example/calls?token=" + secret(p.key),
			"inboundCallWebhookUrl": nil, "webhookVersion": "v2",
		}
	}
	knowledge, apis := []any{}, []any{}
	if n := p.o.cfg.Sizes.Knowledges; n > 0 {
		knowledge = append(knowledge, knowledgeID(d.Below(n)))
	}
	if n := p.o.cfg.Sizes.Tools; n > 0 {
		apis = append(apis, p.o.firstID("tools", d.Below(n)))
	}
	return Object{
		"prompt": Object{
			"prompt":    p.prompt(&d),
			"firstLine": fmt.Sprintf("This is %s from %s.", p.Persona, p.Company), "firstLineType": "aiFirstStatic",
			"pauseBeforeSpeakingSeconds": float64(d.Below(6)) / 2, "isFirstMessageInterruptible": d.Chance(.5),
		},
		"stt": Object{"languages": []any{p.Language}, "speed": pick(&d, "low", "medium", "high")},
		"llm": Object{
			"model": pick(&d, "acme/large-3", "acme/small-3", "borealis/turbo"), "temperature": float64(d.Below(11)) / 10,
			"thinkingBudget": nil, "reasoningEffort": nil,
		},
		"voice": Object{
			"id": fmt.Sprintf("voice-%03d", d.Below((p.o.cfg.Sizes.Voices+1)/2)), "provider": "vox", "model": "natural-2", "speed": 1, "volume": 1,
			"language": p.Language, "temperature": .7,
		},
		"speech": Object{"responsiveness": float64(d.Below(11)) / 10, "boostedKeywords": p.Company + "," + p.Persona},
		"callSettings": Object{
			"backgroundMusic": nil, "backgroundMusicVolume": 0, "noiseCancellation": true, "activationThreshold": .5,
			"callTimeoutInSeconds": 420, "silenceCallTimeoutInSeconds": 20 + d.Below(20), "ringDurationInSeconds": 45,
			"dtmfTerminationEnabled": false, "dtmfTerminationKey": nil, "dtmfTimeoutSeconds": nil,
		},
		"postCall": Object{"actions": list(actions)}, "security": Object{"optOutSensitiveDataStorage": false},
		"webhookSettings": webhooks, "knowledge": Object{"ragEnabled": true, "knowledgeIds": knowledge},
		"presetDynamicVariables": Object{"company": p.Company}, "toolIds": apis, "builtInTools": list(tools),
	}
}

// prompt tells the agent what to do. A long one has 32,000 characters, as seen of
// real agents.
func (p *profile) prompt(d *dice.Dice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s and work for %s. Your task: %s.\n", p.Persona, p.Company, strings.ReplaceAll(p.Scenario, "_", " "))
	for n := 6 + d.Below(8); n > 0 || p.long && b.Len() < 32_000; n-- {
		fmt.Fprintf(&b, "- %s\n", advice[d.Below(len(advice))])
	}
	return b.String()
}

// flow is the graph of a flow agent in one revision, chosen by h.
func (p *profile) flow(h uint64) Object {
	d := dice.New(dice.Hash(h, 9))
	nodes, edges := []any{}, []any{}
	names := []string{"start", "verify", "ask", "offer", "end"}
	for i, name := range names {
		nodes = append(nodes, Object{
			"id": name, "type": pick(&d, "conversation", "condition", "tool"), "position": Object{"x": 240 * i, "y": d.Below(400)},
			"data": Object{"name": name, "prompt": advice[d.Below(len(advice))], "allowInterruption": d.Chance(.5)},
		})
		if i > 0 {
			edges = append(edges, Object{"id": fmt.Sprintf("e%d", i), "source": names[i-1], "target": name})
		}
	}
	return Object{"nodes": nodes, "edges": edges, "viewport": Object{"x": 0, "y": 0, "zoom": 1}}
}

func pick(d *dice.Dice, of ...string) string { return of[d.Below(len(of))] }

// list is an array that is empty rather than null.
func list(all []any) []any {
	if all == nil {
		return []any{}
	}
	return all
}
