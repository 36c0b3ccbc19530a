package organisation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
)

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

// setting is the source of a member of an agent's data.
type setting struct {
	source
	*profile
}

// Size returns a declared size, for templates.
func (s *setting) Size(name string) int { return s.o.size(name) }

// Hooked reports whether the agent has webhooks, for templates.
func (s *setting) Hooked() bool { return s.key%3 == 0 }

// ToolIDs draws a tool that the agent never calls, and adds those that it does.
func (s *setting) ToolIDs() []string {
	n := s.o.size("tools")
	if n == 0 {
		return []string{}
	}
	ids := []string{s.o.firstID("tools", s.Below(n))}
	for i, name := range s.o.called {
		if slices.Contains(s.Tools(), name) {
			ids = append(ids, s.o.firstID("called tools", i))
		}
	}
	return ids
}

// BuiltIn returns the agent's tools that are the platform's own.
func (s *setting) BuiltIn() []string {
	return slices.DeleteFunc(slices.Clone(s.Tools()), func(name string) bool { return !isBuiltIn(name) })
}

// Prompt draws a prompt. A long one has 32,000 characters, as observed.
func (s *setting) Prompt() string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s and work for %s. Your task: %s.\n", s.Persona, s.Company, strings.ReplaceAll(s.Scenario, "_", " "))
	for n := 6 + s.Below(8); n > 0 || s.long && b.Len() < 32_000; n-- {
		b.WriteString("- " + advice[s.Below(len(advice))] + "\n")
	}
	return b.String()
}

// data returns an agent's initial settings.
func (p *profile) data() Object {
	data := Object{}
	for i, s := range Named("agents").Settings {
		data[s.Name] = drawn("data."+s.Name, "new", &setting{source{dice.New(dice.Hash(p.key, 200+uint64(i)))}, p})
	}
	return data
}

// changed returns an agent's settings with one drawn again.
func (p *profile) changed(data Object, d dice.Dice) Object {
	settings, sum := Named("agents").Settings, 0
	for _, s := range settings {
		sum += s.Often
	}
	n := d.Below(sum)
	i := slices.IndexFunc(settings, func(s operation.Setting) bool {
		n -= s.Often
		return n < 0
	})
	if data = maps.Clone(data); data == nil {
		data = Object{}
	}
	data[settings[i].Name] = drawn("data."+settings[i].Name, "new", &setting{source{d}, p})
	return data
}

// flow returns the graph of a flow agent in the revision chosen by h, which its calls walk; the
// revision renames one node.
func (p *profile) flow(h uint64) Object {
	d := source{dice.New(dice.Hash(h, 9))}
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
			"id": id, "type": d.Pick("conversation", "condition", "tool"), "position": Object{"x": 240 * i, "y": d.Below(400)},
			"data": Object{"name": name, "prompt": advice[d.Below(len(advice))], "allowInterruption": d.Chance(.5)},
		})
	}
	return Object{"nodes": nodes, "edges": edges, "viewport": Object{"x": 0, "y": 0, "zoom": 1}}
}
