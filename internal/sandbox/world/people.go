package world

import (
	_ "embed"

	"go.yaml.in/yaml/v3"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/wire"
)

// customers is the number of people that the company knows; the same ones call again.
const customers = 4000

// CustomerName and CustomerPhone are how agents of a language know somebody.
func CustomerName(language string, customer int) string {
	return string(appendName(nil, language, customer))
}

// CustomerPhone returns a customer's number, in digits.
func CustomerPhone(language string, customer int) string {
	return string(appendPhone(nil, language, customer))
}

// CustomerNumber returns a customer's number in the company's records.
func CustomerNumber(customer int) string {
	return string(appendNumber(nil, customer))
}

func appendNumber(dst []byte, customer int) []byte {
	return wire.AppendPadded(append(dst, "C-"...), 100000+customer*37, 6)
}

//go:embed people.yaml
var peopleYAML []byte

// people is the content of people.yaml, by language.
var people = func() (all map[string]struct{ First, Last, Personas, Streets, Areas, Weekdays []string }) {
	if err := yaml.Unmarshal(peopleYAML, &all); err != nil {
		panic("sandbox: people: " + err.Error()) // built-in
	}
	return all
}()

// appendPhone writes the customer's number: digits only, from ranges reserved for fiction
// (555-01xx) or never assigned (010-0000-xxxx).
func appendPhone(dst []byte, language string, customer int) []byte {
	if language == "ko" {
		return wire.AppendPadded(append(dst, "0100000"...), 1000+customer, 4)
	}
	areas := people["en"].Areas
	dst = append(dst, areas[customer%len(areas)]...)
	return wire.AppendPadded(append(dst, "55501"...), customer/len(areas)%100, 2)
}

func appendName(dst []byte, language string, customer int) []byte {
	h, of := dice.Mix(uint64(customer)), people[language]
	first := of.First[customer%len(of.First)]
	if language == "ko" {
		dst = append(dst, of.Last[dice.Pick(h, len(of.Last))*dice.Pick(dice.Mix(h), len(of.Last))/len(of.Last)]...)
		return append(dst, first...)
	}
	return append(append(append(dst, first...), ' '), of.Last[dice.Pick(h, len(of.Last))]...)
}
