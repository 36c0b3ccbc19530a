package script

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// newScenario combines a script with its language's common one, which has the missing beats.
func newScenario(name, language string, own, common *script) (*Scenario, error) {
	sc := &Scenario{Name: name, language: language, Summaries: map[string]Choices{}}
	for _, s := range []*script{common, own} {
		for _, f := range s.fields {
			if err := sc.set(f[0], f[1]); err != nil {
				return nil, fmt.Errorf("%s: %w", f[0], err)
			}
		}
	}
	for _, b := range own.beats {
		sc.add(b)
	}
	for _, b := range common.beats {
		sc.add(b)
	}
	find := func(name string) int {
		for i := range sc.Beats {
			if sc.Beats[i].name == name {
				return i
			}
		}
		return -1
	}
	for heading, at := range map[string]*int{
		"hello": &sc.Hello, "open": &sc.Open, "close good": &sc.CloseGood, "close bad": &sc.CloseBad,
		"transfer": &sc.Transfer, "voicemail": &sc.Voicemail, "silence": &sc.Silence,
	} {
		if *at = find(heading); *at < 0 {
			return nil, fmt.Errorf("no beat [%s]", heading)
		}
	}
	if len(sc.Steps) == 0 || len(sc.Asides) == 0 || len(sc.Beats) > 255 {
		return nil, fmt.Errorf("%d steps, %d asides, %d beats", len(sc.Steps), len(sc.Asides), len(sc.Beats))
	}
	for _, k := range []string{"good", "bad", "early", "transfer", "voicemail", "silence", "limit"} {
		if sc.Summaries[k] == nil {
			return nil, fmt.Errorf("no summary %s", k)
		}
	}
	return sc, nil
}

func (sc *Scenario) set(key, value string) error {
	all, err := parseChoices(value)
	if err != nil {
		return err
	}
	word, arg, _ := strings.Cut(key, " ")
	switch word {
	case "direction":
		sc.Direction = value
	case "companies":
		sc.Companies = strings.Split(value, " | ")
	case "campaigns":
		sc.Campaigns = strings.Split(value, " | ")
	case "products":
		sc.Products = all
	case "staff":
		sc.Staff = all
	case "var":
		sc.Variables = append(sc.Variables, pair{arg, all})
	case "summary":
		sc.Summaries[arg] = all
	case "extract":
		// extract KIND NAME : values after success : values otherwise
		kind, name, _ := strings.Cut(arg, " ")
		good, bad, _ := strings.Cut(value, " : ")
		e := extract{Kind: kind, Name: name}
		if e.Good, err = parseChoices(good); err != nil {
			return err
		}
		if e.Bad, err = parseChoices(bad); err != nil {
			return err
		}
		sc.Extracts = append(sc.Extracts, e)
	default:
		return fmt.Errorf("unknown key")
	}
	return nil
}

// add numbers a beat and computes its totals. Steps and asides begin with the agent's flow moving
// to the node of their name.
func (sc *Scenario) add(b beat) {
	kind, node, _ := strings.Cut(b.name, " ")
	if kind == "step" || kind == "aside" {
		move, err := appendLine(nil, fmt.Sprintf(
			`T %s {"node":"%s","reason":"%s"} => {"status":"ok","node":"%s"}`, Transition, node, kind, node))
		if err != nil {
			panic("script: " + err.Error()) // built-in
		}
		b.Lines, b.Moves = append(move, b.Lines...), len(move)
	}
	last := Roles
	for i := range b.Lines {
		l := &b.Lines[i]
		b.Count[l.Role]++
		b.MS += sc.usualTime(l.Role, l.Text.runes())
		if i, known := slices.BinarySearch(sc.Tools, l.Tool); l.Role == RoleInvocation && l.Tool != Transition && !known {
			sc.Tools = slices.Insert(sc.Tools, i, l.Tool)
		}
		if l.Role == RoleAgent && last == RoleUser {
			b.Turns++
		}
		if l.Role <= RoleUser {
			last = l.Role
		}
	}
	n := len(sc.Beats)
	sc.Beats = append(sc.Beats, b)
	switch kind {
	case "step":
		sc.Steps = append(sc.Steps, n)
	case "aside":
		sc.Asides = append(sc.Asides, n)
	}
}

// Node returns the node of a step or an aside.
func (sc *Scenario) Node(beat int) string {
	_, node, _ := strings.Cut(sc.Beats[beat].name, " ")
	return node
}

// Edges yields the possible moves of a call: steps in order, any step to an aside, and an aside to
// one of the next two steps.
func (sc *Scenario) Edges() iter.Seq2[string, string] {
	return func(yield func(from, to string) bool) {
		from := Start
		for _, step := range sc.Steps {
			node := sc.Node(step)
			if !yield(from, node) {
				return
			}
			for _, aside := range sc.Asides {
				if !yield(node, sc.Node(aside)) {
					return
				}
			}
			from = node
		}
		for i, n := 0, len(sc.Asides); i < n; i++ {
			for _, next := range []int{i + 1, i + 2} {
				if !yield(sc.Node(sc.Asides[i]), sc.Node(sc.Asides[next%n])) {
					return
				}
			}
		}
	}
}

// usualTime returns the usual duration of an item of that length, including the pause before it:
// English runs at about 15 characters a second, Korean at 7.
func (sc *Scenario) usualTime(r Role, runes float64) float64 {
	perRune := 66.0
	if sc.language == "ko" {
		perRune = 140
	}
	switch r {
	case RoleAgent:
		return 150 + runes*perRune
	case RoleUser:
		return 600 + runes*perRune*1.1
	case RoleInvocation:
		return 260
	}
	return 0
}
