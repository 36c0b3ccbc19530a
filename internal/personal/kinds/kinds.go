// Package kinds names the kinds of personal data. It is separate from the recognizers, so that
// programs that only need the names do not link the recognizers, whose tables are built at
// start-up.
package kinds

// Kind is a kind of personal data.
type Kind string

// The kinds.
const (
	Card     Kind = "card"
	RRN      Kind = "rrn"
	Passport Kind = "passport"
	Licence  Kind = "licence"
	Business Kind = "business"
	SSN      Kind = "ssn"
	IBAN     Kind = "iban"
	Phone    Kind = "phone"
	Email    Kind = "email"
	IP       Kind = "ip"
	DOB      Kind = "dob"
	Account  Kind = "account"
)

// All lists all kinds, except those of custom patterns.
var All = []Kind{Card, RRN, Passport, Licence, Business, SSN, IBAN, Phone, Email, IP, DOB, Account}

// Names returns the names of all kinds.
func Names() []string {
	out := make([]string, len(All))
	for i, k := range All {
		out[i] = string(k)
	}
	return out
}
