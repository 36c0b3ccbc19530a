// Package script holds the texts of calls: one file per kind of call and language, with choices and
// slots that make every call differ.
package script

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
)

//go:embed scripts/*.script
var scriptFiles embed.FS

// Role is the speaker or tool of a transcript item.
type Role uint8

const (
	RoleAgent Role = iota
	RoleUser
	RoleInvocation
	RoleResult
	Roles // their number
)

// RoleNames are the service's names of the roles.
var RoleNames = [Roles]string{"agent", "user", "tool_call_invocation", "tool_call_result"}

// line is one item of a script: speech, or a tool call or result.
type line struct {
	Role Role
	Text Choices // speech, arguments or result
	Tool string  // of a call
}

// beat is a group of lines.
type beat struct {
	name  string
	Moves int // number of initial lines that move a flow agent to a node: none, or the transition and its result
	Lines []line
	Count [Roles]uint8
	MS    float64 // usual duration, without the agent's latency
	Turns int     // number of answers of the agent to the user
}

// extract is a fact that the service extracts from every conversation of an agent.
type extract struct {
	Kind, Name string
	Good, Bad  Choices
}

// pair is a key and the text of its value.
type pair struct {
	Key   string
	Value Choices
}

// Scenario is the content of one kind of call in one language. Beats are numbered in a single list,
// so that a call's course takes only a few bytes.
type Scenario struct {
	Name, language, Direction string
	Companies, Campaigns      []string
	Products, Staff           Choices
	Variables                 []pair
	Extracts                  []extract
	Summaries                 map[string]Choices
	Beats                     []beat
	Tools                     []string // names of the tools that its lines call, without transitions
	Hello, Open               int      // beat numbers
	Steps, Asides             []int    // beat numbers, each of a node
	CloseGood, CloseBad       int
	Transfer, Voicemail       int
	Silence                   int
}

// Transition is the tool whose calls show the moves of a flow agent, and Start the initial node of
// every call.
const (
	Transition = "transition_to_node"
	Start      = "start"
)

// Load parses the embedded scripts once and returns the scenarios of each language, which must not
// be changed.
var Load = sync.OnceValues(func() (map[string][]*Scenario, error) {
	all := map[string][]*Scenario{}
	for _, language := range []string{"en", "ko"} {
		common, err := readScript("common." + language)
		if err != nil {
			return nil, err
		}
		files, err := scriptFiles.ReadDir("scripts")
		if err != nil {
			return nil, fmt.Errorf("list scripts: %w", err)
		}
		for _, f := range files {
			name, ok := strings.CutSuffix(f.Name(), "."+language+".script")
			if !ok || name == "common" {
				continue
			}
			own, err := readScript(name + "." + language)
			if err != nil {
				return nil, err
			}
			sc, err := newScenario(name, language, own, common)
			if err != nil {
				return nil, fmt.Errorf("script %s.%s: %w", name, language, err)
			}
			all[language] = append(all[language], sc)
		}
	}
	return all, nil
})

// script is a parsed file: "key : value" lines, and beats under [headings].
type script struct {
	fields [][2]string
	beats  []beat
}

func readScript(name string) (*script, error) {
	text, err := scriptFiles.ReadFile(path.Join("scripts", name+".script"))
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	s, err := parseScript(string(text))
	if err != nil {
		return nil, fmt.Errorf("parse script %s: %w", name, err)
	}
	return s, nil
}

func parseScript(text string) (*script, error) {
	s := &script{}
	number := 0
	for raw := range strings.Lines(text) {
		number++
		l := strings.TrimSpace(raw)
		var err error
		switch {
		case l == "" || l[0] == '#':
		case l[0] == '[':
			s.beats = append(s.beats, beat{name: strings.Trim(l, "[]")})
		case len(s.beats) == 0:
			key, value, ok := strings.Cut(l, " : ")
			if !ok {
				err = errors.New(`want "key : value"`)
			}
			s.fields = append(s.fields, [2]string{strings.TrimSpace(key), strings.TrimSpace(value)})
		default:
			b := &s.beats[len(s.beats)-1]
			b.Lines, err = appendLine(b.Lines, l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return s, nil
}

// appendLine parses "A text", "U text" or "T tool {arguments} => answer".
func appendLine(dst []line, l string) ([]line, error) {
	kind, text, _ := strings.Cut(l, " ")
	switch kind {
	case "A", "U":
		c, err := parseChoices(text)
		r := RoleAgent
		if kind == "U" {
			r = RoleUser
		}
		return append(dst, line{Role: r, Text: c}), err
	case "T":
		name, rest, _ := strings.Cut(text, " ")
		arguments, answer, ok := strings.Cut(rest, " => ")
		if !ok || name == "" {
			return dst, errors.New("want T tool {arguments} => answer")
		}
		a, err1 := parseChoices(arguments)
		r, err2 := parseChoices(answer)
		dst = append(dst, line{Role: RoleInvocation, Tool: name, Text: a}, line{Role: RoleResult, Text: r})
		return dst, errors.Join(err1, err2)
	}
	return dst, fmt.Errorf("unknown kind of line %q", kind)
}
