package script

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/wire"
)

// Slot is a place in a text that each call fills differently. Its number is part of the draws: new
// names go to the end.
type Slot uint8

var slots = []string{
	"", "name", "first", "persona", "company", "staff", "product", "phone", "customer", "order", "ticket", "last4",
	"amount", "amount_number", "balance", "party", "minutes", "score", "date", "date2", "iso_date", "iso_date2",
	"iso_past", "time", "time2", "iso_time", "iso_time2", "address",
}

// SlotOf returns the slot of a name; 0 if unknown.
func SlotOf(name string) Slot { return Slot(max(0, slices.Index(slots, name))) }

func (s Slot) String() string { return slots[s] }

// Template is a text with slots, written <name> in the scripts. It keeps each literal part plain
// and escaped for JSON, so that writing is copying. Values of slots never need escaping.
type Template struct {
	parts []part
	Runes int // its usual length, for the duration of saying it
}

type part struct {
	text, escaped string
	slot          Slot // follows the text
}

func parseTemplate(text string) (Template, error) {
	var t Template
	for text != "" {
		lit, rest, found := strings.Cut(text, "<")
		p := part{text: lit, escaped: string(wire.AppendEscaped(nil, lit))}
		t.Runes += utf8.RuneCountInString(lit)
		text = rest
		if found {
			name, after, ok := strings.Cut(rest, ">")
			if p.slot = SlotOf(name); !ok || p.slot == 0 {
				return t, fmt.Errorf("unknown slot <%s>", name)
			}
			t.Runes += 6
			text = after
		}
		t.parts = append(t.parts, p)
	}
	return t, nil
}

// caller fills the slots of a text.
type caller interface {
	AppendSlot(dst []byte, s Slot) []byte
}

// Append writes the text for a caller, plain or escaped for a JSON string.
func (t *Template) Append(dst []byte, c caller, escaped bool) []byte {
	for i := range t.parts {
		p := &t.parts[i]
		if escaped {
			dst = append(dst, p.escaped...)
		} else {
			dst = append(dst, p.text...)
		}
		if p.slot != 0 {
			dst = c.AppendSlot(dst, p.slot)
		}
	}
	return dst
}

// Plain returns a template without slots.
func Plain(text string) Template {
	return Template{parts: []part{{text: text, escaped: string(wire.AppendEscaped(nil, text))}}}
}

// Text returns the text for a caller.
func (t *Template) Text(c caller) string {
	return string(t.Append(make([]byte, 0, 2*t.Runes), c, false))
}

// Choices are alternative texts.
type Choices []Template

func parseChoices(text string) (Choices, error) {
	var all Choices
	for _, s := range strings.Split(text, " | ") {
		t, err := parseTemplate(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// Of returns the choice for the scrambled number h.
func (cs Choices) Of(h uint64) *Template { return &cs[dice.Pick(h, len(cs))] }

// runes returns the mean length.
func (cs Choices) runes() float64 {
	var sum int
	for i := range cs {
		sum += cs[i].Runes
	}
	return float64(sum) / float64(len(cs))
}
