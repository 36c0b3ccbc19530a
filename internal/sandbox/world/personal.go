package world

import (
	"strings"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/plant"
	"callhouse/internal/sandbox/script"
)

// exchanges is the number of exchanges with personal data or near misses per conversation.
const exchanges = 2

// Exchanges returns the exchanges planted into the conversation.
func (c *Call) Exchanges() (out []plant.Exchange) {
	if c.personal {
		for i := range exchanges {
			out = append(out, plant.Draw(dice.Hash(c.Key, 300+uint64(i)), c.Agent.Language == "ko"))
		}
	}
	return out
}

// Profile returns an attribute of the caller from other systems, as in tools, the metadata and the
// summary. Its name is empty if there is none.
func (c *Call) Profile() (name, value string) {
	if !c.personal {
		return "", ""
	}
	return plant.Profile(dice.Hash(c.Key, 310), c.Agent.Language == "ko")
}

// Revealed returns the personal data in the call as spelled, in parts of at least that many bytes:
// shorter parts, of numbers spread over turns, may occur in other texts as well.
func (c *Call) Revealed(least int) (out []string) {
	for _, e := range c.Exchanges() {
		for _, l := range e.Labels {
			if s := e.Lines[l.Line].Text[l.From:l.To]; len(s) >= least {
				out = append(out, s)
			}
		}
	}
	if _, value := c.Profile(); len(value) >= 8 {
		out = append(out, value)
	}
	return out
}

// reveal plants personal data into a conversation with a person.
func (c *Call) reveal() {
	if !c.talked || c.counts[script.RoleUser] == 0 {
		return
	}
	c.personal = true
	for _, it := range c.planted() {
		c.counts[it.Role]++
	}
}

// planted returns the items of the planted exchanges, and a tool call with the caller's profile.
func (c *Call) planted() (items []Item) {
	add := func(role script.Role, text, tool string) {
		t := script.Plain(text)
		t.Runes = len([]rune(text))
		items = append(items, Item{Role: role, Text: &t, Tool: tool})
	}
	for _, x := range c.Exchanges() {
		for _, l := range x.Lines {
			role := script.RoleUser
			if l.Agent {
				role = script.RoleAgent
			}
			add(role, l.Text, "")
		}
	}
	name, value := c.Profile()
	add(script.RoleInvocation, `{"`+name+`":"`+value+`"}`, "update_profile")
	shown := `"` + value + `"`
	if strings.Trim(value, "0123456789") == "" && value[0] != '0' {
		shown = value // a JSON number
	}
	add(script.RoleResult, `{"status":"ok","profile":{"`+name+`":`+shown+`}}`, "")
	return items
}

// withPlanted adds the planted items to a timeline that has lasted for t.
func (c *Call) withPlanted(items []Item, t float64, calls int, perRune float64) ([]Item, float64) {
	if !c.personal {
		return items, t
	}
	for _, it := range c.planted() {
		switch it.Role {
		case script.RoleInvocation:
			calls++
			it.Call = calls
		case script.RoleResult:
			it.Call = calls
		default:
			t += 400
			it.Start, it.End = int64(t), int64(t+float64(it.Text.Runes)*perRune)
			t += float64(it.Text.Runes) * perRune
		}
		items = append(items, it)
	}
	return items, t
}
