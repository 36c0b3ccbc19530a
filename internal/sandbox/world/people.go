package world

import (
	_ "embed"
	"fmt"

	"go.yaml.in/yaml/v3"

	"callhouse/internal/sandbox/dice"
)

// customers is the number of people that the company knows; the same ones call again.
const customers = 4000

//go:embed people.yaml
var peopleYAML []byte

// people is the content of people.yaml, by language.
var people = func() (all map[string]struct{ First, Last, Personas, Streets, Areas, Weekdays []string }) {
	if err := yaml.Unmarshal(peopleYAML, &all); err != nil {
		panic("sandbox: people: " + err.Error()) // built-in
	}
	return all
}()

// CustomerNumber returns a customer's number in the company's records.
func CustomerNumber(customer int) string { return fmt.Sprintf("C-%06d", 100000+customer*37) }

// CustomerPhone returns a customer's number for agents of a language: digits only, from ranges
// reserved for fiction (555-01xx) or never assigned (010-0000-xxxx).
func CustomerPhone(language string, customer int) string {
	if language == "ko" {
		return fmt.Sprintf("0100000%04d", 1000+customer)
	}
	areas := people["en"].Areas
	return fmt.Sprintf("%s55501%02d", areas[customer%len(areas)], customer/len(areas)%100)
}

// CustomerName returns a customer's name for agents of a language.
func CustomerName(language string, customer int) string {
	h, of := dice.Mix(uint64(customer)), people[language]
	first := of.First[customer%len(of.First)]
	if language == "ko" {
		return of.Last[dice.Pick(h, len(of.Last))*dice.Pick(dice.Mix(h), len(of.Last))/len(of.Last)] + first
	}
	return first + " " + of.Last[dice.Pick(h, len(of.Last))]
}
