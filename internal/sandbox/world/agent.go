package world

import (
	"fmt"
	"iter"
	"sort"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
)

// Agent is one of the company's voice agents.
type Agent struct {
	Number       int // from 0
	ID           UUID
	Language     string // en or ko
	Scenario     string // appointment_reminder, delivery, …
	Direction    string // inbound or outbound
	Flow         bool   // it has a graph of nodes; otherwise a single prompt
	Company      string
	Persona      string // its name in conversations
	Line         string // its telephone number, digits
	Presentation string // the number shown to the callee; empty: none
	Variants     bool   // its traffic is split between A and B
	Newest       int    // number of its newest version at Epoch; calls name it and older ones

	scenario   *script.Scenario
	weight     [3]float64 // share of the calls by night, at work, in the evening
	connect    float64    // answered share of dialled calls
	voicemail  float64    // share of answered calls that reach a machine
	transfer   float64    // shares of conversations
	early      float64
	success    float64
	mood       float64 // -1 to 1
	latency    float64 // ms until it answers
	interrupts float64 // share of user turns that interrupt it
	toolErrors float64 // share of calls in which a tool fails once
	rate       int64   // won per minute
	extracts   bool    // it has extractions
	versions   [3]version
}

// version is a released state of an agent. A higher lift performs better.
type version struct {
	label string
	share float64
	lift  float64
}

// production is the label of the version in production.
const production = "production"

// newAgents makes n agents, half of them Korean, over all scenarios: a few large ones and many
// small ones.
func newAgents(key uint64, n int) ([]*Agent, error) {
	scenarios, err := script.Load()
	if err != nil {
		return nil, err
	}
	agents := make([]*Agent, n)
	for i := range agents {
		language := [2]string{"ko", "en"}[i%2]
		all := scenarios[language]
		sc := all[(i/2*5+i%2*3)%len(all)]
		d := dice.New(dice.Hash(key, uint64(i)))
		a := &Agent{
			Number: i, ID: newUUID(d.Next(), d.Next()), Language: language, scenario: sc,
			Scenario: sc.Name, Direction: sc.Direction, Flow: i%3 != 1,
			Company: sc.Companies[i/len(all)%len(sc.Companies)],
		}
		personas := people[language].Personas
		a.Persona = personas[d.Below(len(personas))]
		if language == "ko" {
			a.Line = fmt.Sprintf("0200000%03d", 100+i)
		} else {
			a.Line = fmt.Sprintf("80055501%02d", i%100)
		}
		if d.Chance(.4) && sc.Direction == "outbound" {
			a.Presentation = fmt.Sprintf("15880%03d", 100+i)
		}
		// Volume falls off with a draw's square; outbound agents keep office hours.
		volume := .08 + d.Unit()*d.Unit()
		a.weight = [3]float64{volume, volume, volume}
		if sc.Direction == "outbound" {
			a.weight = [3]float64{0, volume, volume * .35}
		} else if sc.Name != "card_lost" && sc.Name != "internet_outage" {
			a.weight[0] *= .2
		}
		a.connect = .52 + .3*d.Unit()
		a.voicemail = .08 + .22*d.Unit()
		a.transfer = .02 + .16*d.Unit()*d.Unit()
		a.early = .06 + .16*d.Unit()
		a.success = .62 + .28*d.Unit()
		a.mood = -.5 + 1.0*d.Unit()
		a.latency = 620 + 900*d.Unit()
		a.interrupts = .02 + .08*d.Unit()
		a.toolErrors = .05 + .4*d.Unit()*d.Unit()
		a.rate = []int64{90, 100, 120, 120, 150, 200}[d.Below(6)]
		a.extracts = d.Chance(.65)
		a.Variants = d.Chance(.25)
		newest := 120 + d.Below(150)
		a.Newest = newest
		a.versions = [3]version{
			{production, .72, 0},
			{fmt.Sprintf("v%d", newest-1-d.Below(6)), .16, -.04},
			{"current", .12, .05},
		}
		if i%3 == 0 { // pinned by number, the newer one taking over
			a.versions[0].label, a.versions[0].lift = fmt.Sprintf("v%d", newest), .04
			a.versions[2].label, a.versions[2].lift = production, 0
		}
		agents[i] = a
	}
	return agents, nil
}

// Extractions yields the kind and name of each of the agent's extractions.
func (a *Agent) Extractions() iter.Seq2[string, string] {
	return func(yield func(kind, name string) bool) {
		for i := range a.scenario.Extracts {
			if e := &a.scenario.Extracts[i]; a.extracts && !yield(e.Kind, e.Name) {
				return
			}
		}
	}
}

// Edges yields the edges of a flow agent's graph, the first one from the initial node.
func (a *Agent) Edges() iter.Seq2[string, string] { return a.scenario.Edges() }

// Tools returns the names of the agent's tools, in order.
func (a *Agent) Tools() []string { return a.scenario.Tools }

// roster draws the agent of a call by the time of day.
type roster struct {
	agents []*Agent
	cum    [3][]float64
}

func newRoster(agents []*Agent) *roster {
	r := &roster{agents: agents}
	for part := range r.cum {
		var sum float64
		for _, a := range agents {
			sum += a.weight[part]
			r.cum[part] = append(r.cum[part], sum)
		}
		for i := range r.cum[part] {
			if sum > 0 {
				r.cum[part][i] /= sum
			}
		}
	}
	return r
}

func (r *roster) at(start int64, u float64) *Agent {
	hour := (start + zoneOffset) % msDay / msHour
	part := 0
	switch {
	case hour >= 8 && hour < 18:
		part = 1
	case hour >= 18 && hour < 21:
		part = 2
	}
	cum := r.cum[part]
	i := sort.Search(len(cum)-1, func(i int) bool { return cum[i] > u })
	return r.agents[i]
}
