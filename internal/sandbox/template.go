package sandbox

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// slot is a place in a text that each call fills in its own way.
type slot uint8

const (
	slotNone slot = iota
	slotName
	slotFirst
	slotPersona
	slotCompany
	slotStaff
	slotProduct
	slotPhone
	slotCustomer
	slotOrder
	slotTicket
	slotLast4
	slotAmount
	slotAmountNumber
	slotBalance
	slotParty
	slotMinutes
	slotScore
	slotDate
	slotDate2
	slotISODate
	slotISODate2
	slotISOPast
	slotTime
	slotTime2
	slotISOTime
	slotISOTime2
	slotAddress
)

var slotNames = map[string]slot{
	"name": slotName, "first": slotFirst, "persona": slotPersona, "company": slotCompany,
	"staff": slotStaff, "product": slotProduct, "phone": slotPhone, "customer": slotCustomer,
	"order": slotOrder, "ticket": slotTicket, "last4": slotLast4, "amount": slotAmount,
	"amount_number": slotAmountNumber, "balance": slotBalance, "party": slotParty,
	"minutes": slotMinutes, "score": slotScore, "date": slotDate, "date2": slotDate2,
	"iso_date": slotISODate, "iso_date2": slotISODate2, "iso_past": slotISOPast, "time": slotTime, "time2": slotTime2,
	"iso_time": slotISOTime, "iso_time2": slotISOTime2, "address": slotAddress,
}

// template is a text with slots, written <name> in the scripts. It keeps each
// literal part twice, plain and escaped for JSON, so that writing one is copying.
// What fills a slot never needs escaping.
type template struct {
	parts []part
	runes int // its usual length, for the time that saying it takes
}

type part struct {
	text, escaped string
	slot          slot // follows the text
}

func parseTemplate(text string) (template, error) {
	var t template
	for text != "" {
		lit, rest, found := strings.Cut(text, "<")
		p := part{text: lit, escaped: string(appendEscaped(nil, lit))}
		t.runes += utf8.RuneCountInString(lit)
		text = rest
		if found {
			name, after, ok := strings.Cut(rest, ">")
			if p.slot = slotNames[name]; !ok || p.slot == slotNone {
				return t, fmt.Errorf("no slot is called <%s>", name)
			}
			t.runes += 6
			text = after
		}
		t.parts = append(t.parts, p)
	}
	return t, nil
}

// caller fills the slots of a text.
type caller interface {
	AppendSlot(dst []byte, s slot) []byte
}

// append writes the text of t for a caller, escaped for the inside of a JSON
// string or plain.
func (t *template) append(dst []byte, c caller, escaped bool) []byte {
	for i := range t.parts {
		p := &t.parts[i]
		if escaped {
			dst = append(dst, p.escaped...)
		} else {
			dst = append(dst, p.text...)
		}
		if p.slot != slotNone {
			dst = c.AppendSlot(dst, p.slot)
		}
	}
	return dst
}

// plain is a text without slots.
func plain(text string) template {
	return template{parts: []part{{text: text, escaped: string(appendEscaped(nil, text))}}}
}

// text returns the text of t for a caller.
func (t *template) text(c caller) string { return string(t.append(make([]byte, 0, 2*t.runes), c, false)) }

// choices are the ways to say one thing.
type choices []template

func parseChoices(text string) (choices, error) {
	var all choices
	for _, s := range strings.Split(text, " | ") {
		t, err := parseTemplate(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// of returns the choice that the scrambled number h falls on.
func (cs choices) of(h uint64) *template { return &cs[pick(h, len(cs))] }

// runes is the mean length.
func (cs choices) runes() float64 {
	var sum int
	for i := range cs {
		sum += cs[i].runes
	}
	return float64(sum) / float64(len(cs))
}
