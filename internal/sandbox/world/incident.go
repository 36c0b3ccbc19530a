package world

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/sandbox/script"
)

// Incident is a problem that lasts some days. Calls of other days do not change.
type Incident struct {
	Kind string // one of incidentKinds
	Of   string // the name of a tool, or the number of an agent
	// From and To are days, counted from the midnight (UTC) before Config.Origin. To is not included.
	From, To int
}

// Kinds of incidents.
const (
	carrierIncident = "carrier" // every second dialled call fails at once
	toolIncident    = "tool"    // a tool fails wherever the script's steps need it: the calls take longer and do not succeed
	releaseIncident = "release" // an agent publishes a version that is slower and succeeds less often, and later a normal one
)

// releaseLift is the lift of the bad version of a releaseIncident.
const releaseLift = -.4

// Incidents are written as KIND=FROM..TO or KIND:OF=FROM..TO, separated by commas.
type Incidents []Incident

// Set parses incidents. With String and Type it implements pflag.Value.
func (all *Incidents) Set(text string) error {
	*all = nil
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		what, days, _ := strings.Cut(s, "=")
		from, to, _ := strings.Cut(days, "..")
		var i Incident
		var err, err2 error
		i.Kind, i.Of, _ = strings.Cut(strings.TrimSpace(what), ":")
		i.From, err = strconv.Atoi(from)
		if i.To, err2 = strconv.Atoi(to); err != nil || err2 != nil || i.To <= i.From {
			return fmt.Errorf("%q has no days: write it as carrier=-9..-7, for the days -9 and -8", s)
		}
		*all = append(*all, i)
	}
	return nil
}

// String returns the incidents in the form that Set parses.
func (all *Incidents) String() string {
	var out []string
	for _, i := range *all {
		what := i.Kind
		if i.Of != "" {
			what += ":" + i.Of
		}
		out = append(out, fmt.Sprintf("%s=%d..%d", what, i.From, i.To))
	}
	return strings.Join(out, ",")
}

// Type names the value in the flag's help.
func (*Incidents) Type() string { return "incidents" }

// checkIncidents rejects incidents that cannot affect any call.
func (w *World) checkIncidents() error {
	for _, i := range w.cfg.Incidents {
		var met bool
		switch i.Kind {
		case carrierIncident:
			met = i.Of == "" && slices.ContainsFunc(w.Agents(), func(a *Agent) bool { return a.Direction == "outbound" })
		case toolIncident:
			met = slices.ContainsFunc(w.Agents(), func(a *Agent) bool { return a.scenario.Needs(i.Of) })
		case releaseIncident:
			n, err := strconv.Atoi(i.Of)
			met = err == nil && n >= 0 && n < len(w.Agents()) && w.agents[n].versions[0].label == production
		}
		if !met {
			return fmt.Errorf("incident %s: use carrier (of agents that dial), tool:NAME (of a step of an agent's script), or "+
				"release:NUMBER (of an agent, from 0; no multiple of 3: calls of these name older versions)", &Incidents{i})
		}
	}
	return nil
}

// Releases returns the times at which incidents make an agent publish versions.
func (w *World) Releases(a *Agent) (at []int64) {
	for _, i := range w.cfg.Incidents {
		if i.Kind == releaseIncident && i.Of == strconv.Itoa(a.Number) {
			at = append(at, w.midnight+int64(i.From)*msDay, w.midnight+int64(i.To)*msDay)
		}
	}
	return at
}

// strike applies the incidents of a call's day, before the call's course is drawn.
func (w *World) strike(c *Call, production bool) {
	for _, i := range w.cfg.Incidents {
		if day := int(floorDiv(c.StartAt-w.midnight, msDay)); day < i.From || day >= i.To {
			continue
		}
		switch {
		case i.Kind == carrierIncident:
			c.lost = true
		case i.Kind == toolIncident && c.scenario.Needs(i.Of):
			c.fails = i.Of
		case i.Kind == releaseIncident && production && i.Of == strconv.Itoa(c.Agent.Number):
			c.lift = releaseLift
		}
	}
}

// failing returns the number of lines of a beat that call the failing tool.
func (c *Call) failing(beat int) (n int) {
	if c.fails == "" {
		return 0
	}
	for _, l := range c.scenario.Beats[beat].Lines {
		if l.Role == script.RoleInvocation && l.Tool == c.fails {
			n++
		}
	}
	return n
}
