package world

import (
	"embed"
	"regexp"
	"strings"
	"sync"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
)

//go:embed exchanges.*.txt
var exchangeFiles embed.FS

// exchange is a few lines with personal data, or with what only looks like it.
type exchange struct {
	items  []Item
	values []string // the personal data, as spelled
}

// profile is an attribute of a caller in another system: a kind of personal data, and a written
// value.
type profile struct{ kind, value string }

// corpus are the exchanges and profiles in one language.
type corpus struct {
	exchanges []exchange
	profiles  []profile
}

var marked = regexp.MustCompile(`\{\{([a-z]+)(\*?)\|([^}]*)\}\}`)

// corpora are by language.
var corpora = sync.OnceValue(func() map[string]*corpus {
	all := map[string]*corpus{}
	for _, language := range []string{"en", "ko"} {
		text, err := exchangeFiles.ReadFile("exchanges." + language + ".txt")
		if err != nil {
			panic("sandbox: " + err.Error()) // built-in
		}
		c := &corpus{}
		for paragraph := range strings.SplitSeq(string(text), "\n\n") {
			var x exchange
			for line := range strings.Lines(paragraph) {
				speaker, said, ok := strings.Cut(strings.TrimSpace(line), "\t")
				if !ok {
					continue // a comment
				}
				for _, m := range marked.FindAllStringSubmatch(said, -1) {
					x.values = append(x.values, m[3])
					if m[2] == "" {
						c.profiles = append(c.profiles, profile{m[1], m[3]})
					}
				}
				role := script.RoleUser
				if speaker == "agent" {
					role = script.RoleAgent
				}
				x.items = append(x.items, plain(role, marked.ReplaceAllString(said, "$3"), ""))
			}
			if x.items != nil {
				c.exchanges = append(c.exchanges, x)
			}
		}
		all[language] = c
	}
	return all
})

// plain returns an item with a text without slots.
func plain(role script.Role, text, tool string) Item {
	t := script.Plain(text)
	t.Runes = len([]rune(text))
	return Item{Role: role, Text: &t, Tool: tool}
}

// exchanges returns the two exchanges planted into the conversation; nil if there are none.
func (c *Call) exchanges() (out []exchange) {
	if c.personal {
		all := corpora()[c.Agent.Language].exchanges
		for i := range uint64(2) {
			out = append(out, all[dice.Pick(dice.Hash(c.Key, 300+i), len(all))])
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
	all := corpora()[c.Agent.Language].profiles
	p := all[dice.Pick(dice.Hash(c.Key, 310), len(all))]
	return keys[p.kind], p.value
}

// keys are the names of kinds in other systems.
var keys = map[string]string{
	"card": "card_number", "rrn": "resident_number", "passport": "passport_number", "licence": "driver_license",
	"business": "business_number", "ssn": "ssn", "iban": "iban", "phone": "callback_phone", "email": "email", "ip": "client_ip",
	"dob": "birth_date", "account": "bank_account",
}

// Revealed returns the personal data in the call as spelled, in parts of at least that many bytes:
// shorter parts, of numbers spread over turns, may occur in other texts as well.
func (c *Call) Revealed(least int) (out []string) {
	for _, x := range c.exchanges() {
		for _, s := range x.values {
			if len(s) >= least {
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
	for _, x := range c.exchanges() {
		items = append(items, x.items...)
	}
	name, value := c.Profile()
	shown := `"` + value + `"`
	if strings.Trim(value, "0123456789") == "" && value[0] != '0' {
		shown = value // a JSON number
	}
	return append(items, plain(script.RoleInvocation, `{"`+name+`":"`+value+`"}`, "update_profile"),
		plain(script.RoleResult, `{"status":"ok","profile":{"`+name+`":`+shown+`}}`, ""))
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
