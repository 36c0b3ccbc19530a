package sandbox

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

// role says who or what an item of a transcript comes from.
type role uint8

const (
	roleAgent role = iota
	roleUser
	roleInvocation
	roleResult
	roles // how many there are
)

var roleNames = [roles]string{"agent", "user", "tool_call_invocation", "tool_call_result"}

// line is one item of a script: something said, or a tool called or answering.
type line struct {
	role role
	text choices // what is said; a tool's arguments; a tool's answer
	tool string  // of an invocation
}

// beat is a few lines that belong together.
type beat struct {
	name  string
	lines []line
	count [roles]uint8
	ms    float64 // usual time to say it all, without the agent's own latency
	turns int     // how many times the agent answers the user
}

// extract is one fact that an agent's author lets the service take out of every
// conversation.
type extract struct {
	kind, name string
	good, bad  choices
}

// pair is a key with the text of its value.
type pair struct {
	key   string
	value choices
}

// scenario is what one kind of call is about, in one language. Beats are
// numbered in one list, so that a call's course is a few bytes.
type scenario struct {
	name, language, direction string
	companies, campaigns      []string
	products, staff           choices
	variables                 []pair
	extracts                  []extract
	summaries                 map[string]choices
	beats                     []beat
	hello, open               int   // beat numbers
	steps, asides             []int // beat numbers
	closeGood, closeBad       int
	transfer, voicemail       int
	silence                   int
}

// loadScenarios parses the embedded scripts once; what it returns is only read.
var loadScenarios = sync.OnceValues(func() (map[string][]*scenario, error) {
	all := map[string][]*scenario{}
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

// script is one parsed file: "key : value" lines, and beats under [headings].
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
			b.lines, err = appendLine(b.lines, l)
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
		r := roleAgent
		if kind == "U" {
			r = roleUser
		}
		return append(dst, line{role: r, text: c}), err
	case "T":
		name, rest, _ := strings.Cut(text, " ")
		arguments, answer, ok := strings.Cut(rest, " => ")
		if !ok || name == "" {
			return dst, errors.New("want T tool {arguments} => answer")
		}
		a, err1 := parseChoices(arguments)
		r, err2 := parseChoices(answer)
		dst = append(dst, line{role: roleInvocation, tool: name, text: a}, line{role: roleResult, text: r})
		return dst, errors.Join(err1, err2)
	}
	return dst, fmt.Errorf("unknown kind of line %q", kind)
}
