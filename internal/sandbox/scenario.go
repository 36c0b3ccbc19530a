package sandbox

import (
	"fmt"
	"strings"
)

// newScenario puts a script and its language's common one together: a beat that
// the script has not, it takes from the common one.
func newScenario(name, language string, own, common *script) (*scenario, error) {
	sc := &scenario{name: name, language: language, summaries: map[string]choices{}}
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
		for i := range sc.beats {
			if sc.beats[i].name == name {
				return i
			}
		}
		return -1
	}
	for heading, at := range map[string]*int{
		"hello": &sc.hello, "open": &sc.open, "close good": &sc.closeGood, "close bad": &sc.closeBad,
		"transfer": &sc.transfer, "voicemail": &sc.voicemail, "silence": &sc.silence,
	} {
		if *at = find(heading); *at < 0 {
			return nil, fmt.Errorf("no beat [%s]", heading)
		}
	}
	if len(sc.steps) == 0 || len(sc.asides) == 0 || len(sc.beats) > 255 {
		return nil, fmt.Errorf("%d steps, %d asides, %d beats", len(sc.steps), len(sc.asides), len(sc.beats))
	}
	for _, k := range []string{"good", "bad", "early", "transfer", "voicemail", "silence", "limit"} {
		if sc.summaries[k] == nil {
			return nil, fmt.Errorf("no summary %s", k)
		}
	}
	return sc, nil
}

func (sc *scenario) set(key, value string) error {
	all, err := parseChoices(value)
	if err != nil {
		return err
	}
	word, arg, _ := strings.Cut(key, " ")
	switch word {
	case "direction":
		sc.direction = value
	case "companies":
		sc.companies = strings.Split(value, " | ")
	case "campaigns":
		sc.campaigns = strings.Split(value, " | ")
	case "products":
		sc.products = all
	case "staff":
		sc.staff = all
	case "var":
		sc.variables = append(sc.variables, pair{arg, all})
	case "summary":
		sc.summaries[arg] = all
	case "extract":
		// extract KIND NAME : values when it went well : values when not
		kind, name, _ := strings.Cut(arg, " ")
		good, bad, _ := strings.Cut(value, " : ")
		e := extract{kind: kind, name: name}
		if e.good, err = parseChoices(good); err != nil {
			return err
		}
		if e.bad, err = parseChoices(bad); err != nil {
			return err
		}
		sc.extracts = append(sc.extracts, e)
	default:
		return fmt.Errorf("unknown key")
	}
	return nil
}

// add numbers a beat and works out what it amounts to. Steps and asides begin
// with the agent's flow moving to the node of their name.
func (sc *scenario) add(b beat) {
	kind, node, _ := strings.Cut(b.name, " ")
	if kind == "step" || kind == "aside" {
		move, err := appendLine(nil, fmt.Sprintf(
			`T transition_to_node {"node":"%s","reason":"%s"} => {"status":"ok","node":"%s"}`, node, kind, node))
		if err != nil {
			panic("sandbox: " + err.Error()) // the text is ours
		}
		b.lines = append(move, b.lines...)
	}
	last := roles
	for i := range b.lines {
		l := &b.lines[i]
		b.count[l.role]++
		b.ms += sc.usualTime(l.role, l.text.runes())
		if l.role == roleAgent && last == roleUser {
			b.turns++
		}
		if l.role <= roleUser {
			last = l.role
		}
	}
	n := len(sc.beats)
	sc.beats = append(sc.beats, b)
	switch kind {
	case "step":
		sc.steps = append(sc.steps, n)
	case "aside":
		sc.asides = append(sc.asides, n)
	}
}

// usualTime is how long an item of that many characters takes, with the usual
// pause before it: English runs at about 15 characters a second, Korean at 7.
func (sc *scenario) usualTime(r role, runes float64) float64 {
	perRune := 66.0
	if sc.language == "ko" {
		perRune = 140
	}
	switch r {
	case roleAgent:
		return 150 + runes*perRune
	case roleUser:
		return 600 + runes*perRune*1.1
	case roleInvocation:
		return 260
	}
	return 0
}
