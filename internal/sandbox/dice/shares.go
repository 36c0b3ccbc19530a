package dice

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Shares are the probabilities of different outcomes, at most 1 in total. The remaining cases are
// normal.
type Shares[K ~string] []Share[K]

// Share is the probability of one kind.
type Share[K ~string] struct {
	Kind K
	Rate float64
}

// ParseShares reads "500=0.05,429=0.01". what names the kinds in errors, such as "fault".
func ParseShares[K ~string](text, what string, kinds []K) (Shares[K], error) {
	all, err := ReadShares[K](text, what)
	if err != nil {
		return nil, err
	}
	return all, all.Check(what, kinds)
}

// ReadShares is ParseShares without a check.
func ReadShares[K ~string](text, what string) (all Shares[K], _ error) {
	for e, given := range Entries(text) {
		rate, err := strconv.ParseFloat(e[1], 64)
		if !given {
			return nil, fmt.Errorf("parse %s %q: want KIND=RATE", what, e[0])
		} else if err != nil {
			return nil, fmt.Errorf("parse %s %q: %q is not a rate", what, e[0]+"="+e[1], e[1])
		}
		all = append(all, Share[K]{K(e[0]), rate})
	}
	return all, nil
}

// Check reports invalid shares.
func (all Shares[K]) Check(what string, kinds []K) error {
	var sum float64
	for _, s := range all {
		if err := Known(what, s.Kind, kinds); err != nil {
			return err
		}
		if !(s.Rate >= 0 && s.Rate <= 1) {
			return fmt.Errorf("rate of %s %s must be 0 to 1, not %v", what, s.Kind, s.Rate)
		}
		sum += s.Rate
	}
	if sum > 1 {
		return fmt.Errorf("the sum of the %s rates is %v, but must not exceed 1", what, sum)
	}
	return nil
}

// Draw returns the kind drawn by u; empty for none.
func (all Shares[K]) Draw(u float64) K {
	for _, s := range all {
		if u -= s.Rate; u < 0 {
			return s.Kind
		}
	}
	return ""
}

// Known rejects an unknown name.
func Known[N ~string](what string, name N, all []N) error {
	if slices.Contains(all, name) {
		return nil
	}
	var names []string
	for _, n := range all {
		names = append(names, string(n))
	}
	return fmt.Errorf("unknown %s %q; available: %s", what, name, strings.Join(names, ", "))
}

// Entries yields the entries of "NAME=VALUE,…"; given is false for an entry without a value.
func Entries(text string) iter.Seq2[[2]string, bool] {
	return func(yield func([2]string, bool) bool) {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if name, value, given := strings.Cut(part, "="); !yield([2]string{name, value}, given) {
				return
			}
		}
	}
}
