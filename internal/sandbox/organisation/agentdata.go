package organisation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/sandbox/dice"
)

// Secret is part of every value that clients must not store: tokens in headers of tools and in
// addresses of webhooks and channels.
const Secret = "hush-hush-"

func secret(h uint64) string { return fmt.Sprintf("%s%016x", Secret, dice.Mix(h)) }

// advice is the material of prompts.
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

// section is a part of an agent's settings: its name in data, and how it is drawn.
type section struct {
	name  string
	draw  func(p *profile, d *dice.Dice) any
	often int // weight of edits by its author
}

var sections = []section{
	{"prompt", func(p *profile, d *dice.Dice) any {
		return Object{
			"prompt":    p.prompt(d),
			"firstLine": fmt.Sprintf("This is %s from %s.", p.Persona, p.Company), "firstLineType": "aiFirstStatic",
			"pauseBeforeSpeakingSeconds": float64(d.Below(6)) / 2, "isFirstMessageInterruptible": d.Chance(.5),
		}
	}, 5},
	{"stt", func(p *profile, d *dice.Dice) any {
		return Object{"languages": []any{p.Language}, "speed": pick(d, "low", "medium", "high")}
	}, 1},
	{"llm", func(_ *profile, d *dice.Dice) any {
		return Object{
			"model": pick(d, "acme/large-1", "acme/small-1", "borealis/turbo-1"), "temperature": float64(d.Below(11)) / 10,
			"thinkingBudget": nil, "reasoningEffort": nil,
		}
	}, 1},
	{"voice", func(p *profile, d *dice.Dice) any {
		return Object{
			"id": fmt.Sprintf("voice-%03d", d.Below((p.o.size("voices")+1)/2)), "provider": "vox", "model": "natural-2", "speed": 1, "volume": 1,
			"language": p.Language, "temperature": .7,
		}
	}, 1},
	{"speech", func(p *profile, d *dice.Dice) any {
		return Object{"responsiveness": float64(d.Below(11)) / 10, "boostedKeywords": p.Company + "," + p.Persona}
	}, 1},
	{"callSettings", func(_ *profile, d *dice.Dice) any {
		return Object{
			"backgroundMusic": nil, "backgroundMusicVolume": 0, "noiseCancellation": true, "activationThreshold": .5,
			"callTimeoutInSeconds": 420, "silenceCallTimeoutInSeconds": 20 + d.Below(20), "ringDurationInSeconds": 45,
			"dtmfTerminationEnabled": false, "dtmfTerminationKey": nil, "dtmfTimeoutSeconds": nil,
		}
	}, 1},
	{"postCall", func(p *profile, d *dice.Dice) any {
		actions := []any{}
		for kind, name := range p.Extractions() {
			about := "What the caller said about " + strings.ReplaceAll(name, "_", " ")
			a := Object{"name": name, "type": kind, "isNullable": d.Chance(.3), "description": about}
			if kind == "enum" {
				a["enumOptions"] = []any{"yes", "no", "unclear"}
			}
			actions = append(actions, a)
		}
		return Object{"actions": actions}
	}, 0},
	{"security", func(*profile, *dice.Dice) any { return Object{"optOutSensitiveDataStorage": false} }, 0},
	{"webhookSettings", func(p *profile, d *dice.Dice) any {
		if p.key%3 != 0 {
			return nil
		}
		return Object{
			"callDataWebhookUrl":    "https://hooks.example/calls?token=" + secret(d.Next()),
			"inboundCallWebhookUrl": nil, "webhookVersion": "v2",
		}
	}, 1},
	{"knowledge", func(p *profile, d *dice.Dice) any {
		ids := []any{}
		if n := p.o.size("knowledges"); n > 0 {
			ids = append(ids, knowledgeID(d.Below(n)))
		}
		return Object{"ragEnabled": true, "knowledgeIds": ids}
	}, 1},
	{"presetDynamicVariables", func(p *profile, _ *dice.Dice) any { return Object{"company": p.Company} }, 0},
	{"toolIds", func(p *profile, d *dice.Dice) any {
		ids := []any{}
		if n := p.o.size("tools"); n > 0 {
			ids = append(ids, p.o.firstID("tools", d.Below(n))) // one that it never calls
			for i, name := range p.o.called {
				if slices.Contains(p.Tools(), name) {
					ids = append(ids, p.o.firstID("called tools", i))
				}
			}
		}
		return ids
	}, 1},
	{"builtInTools", func(p *profile, d *dice.Dice) any {
		tools := []any{}
		for _, name := range p.Tools() {
			if !isBuiltIn(name) {
				continue
			}
			tool := Object{
				"toolType": name, "name": name, "description": "Of the platform", "responseMode": "wait",
				"speakDuringExecution": Object{"enabled": d.Chance(.6), "messages": []any{"One moment."}}, "allowInterruptionDuringExecution": false,
			}
			if name == "transfer_call" {
				tool["description"], tool["transferType"] = "Hand the caller over to "+p.staff(), "cold"
				tool["displayedCallerId"] = pick(d, "agent", "user")
			}
			tools = append(tools, tool)
		}
		return tools
	}, 1},
}

// data returns an agent's initial settings.
func (p *profile) data() Object {
	data := Object{}
	for i, s := range sections {
		d := dice.New(dice.Hash(p.key, 200+uint64(i)))
		data[s.name] = s.draw(p, &d)
	}
	return data
}

// changed returns an agent's settings with one section drawn again.
func (p *profile) changed(data Object, d *dice.Dice) Object {
	sum := 0
	for _, s := range sections {
		sum += s.often
	}
	n := d.Below(sum)
	for _, s := range sections {
		if n -= s.often; n < 0 {
			if data = maps.Clone(data); data == nil {
				data = Object{}
			}
			data[s.name] = s.draw(p, d)
			break
		}
	}
	return data
}

// prompt draws a prompt. A long one has 32,000 characters, as observed.
func (p *profile) prompt(d *dice.Dice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s and work for %s. Your task: %s.\n", p.Persona, p.Company, strings.ReplaceAll(p.Scenario, "_", " "))
	for n := 6 + d.Below(8); n > 0 || p.long && b.Len() < 32_000; n-- {
		b.WriteString("- " + advice[d.Below(len(advice))] + "\n")
	}
	return b.String()
}

// flow returns the graph of a flow agent in the revision chosen by h, which its calls walk; the
// revision renames one node.
func (p *profile) flow(h uint64) Object {
	d := dice.New(dice.Hash(h, 9))
	nodes, edges := []any{}, []any{}
	var ids []string
	for from, to := range p.Edges() {
		edges = append(edges, Object{"id": fmt.Sprintf("e%d", len(edges)+1), "source": from, "target": to})
		for _, id := range []string{from, to} {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	renamed := d.Below(len(ids))
	for i, id := range ids {
		name := strings.ReplaceAll(id, "_", " ")
		if i == renamed {
			name += ", revised"
		}
		nodes = append(nodes, Object{
			"id": id, "type": pick(&d, "conversation", "condition", "tool"), "position": Object{"x": 240 * i, "y": d.Below(400)},
			"data": Object{"name": name, "prompt": advice[d.Below(len(advice))], "allowInterruption": d.Chance(.5)},
		})
	}
	return Object{"nodes": nodes, "edges": edges, "viewport": Object{"x": 0, "y": 0, "zoom": 1}}
}

func pick(d *dice.Dice, of ...string) string { return of[d.Below(len(of))] }
