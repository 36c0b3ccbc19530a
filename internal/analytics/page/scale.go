package page

import (
	"fmt"
	"math"
	"strings"
)

// scale is the unit of an axis: it determines ticks and labels.
type scale uint8

const (
	counts   scale = iota // whole numbers: 1,500
	percents              // 0 to 100
	amounts               // 0.25, 1,500
)

// ticks returns about n values from 0 at round distances; the last is not below top. A top that is
// not positive counts as 1, so that an empty axis can be drawn.
func (s scale) ticks(top float64, n int) []float64 {
	if !(top > 0) || math.IsInf(top, 0) {
		if top = 1; s == percents {
			top = 100
		}
	}
	step := s.step(top / float64(max(n, 1)))
	var out []float64
	for i := 0; ; i++ {
		// Multiplied, not added: 0.1 added three times is not 0.3.
		v := float64(i) * step
		out = append(out, v)
		if v >= top*(1-1e-9) {
			return out
		}
	}
}

// narrowestSpan is the minimum span, in points, of an axis that need not begin at 0.
const narrowestSpan = 10.0

// between returns about n shares at round distances; the first is not above low, the last not below high.
func (s scale) between(low, high float64, n int) []float64 {
	if missing := narrowestSpan - (high - low); missing > 0 {
		low, high = low-missing/2, high+missing/2
	}
	low = max(low, 0)
	step := s.step((high - low) / float64(max(n, 1)))
	var out []float64
	for i := math.Floor(low/step + 1e-9); ; i++ {
		out = append(out, i*step)
		if i*step >= min(high, 100)*(1-1e-9) && len(out) > 1 {
			return out
		}
	}
}

// step returns the next round distance not below rough.
func (s scale) step(rough float64) float64 {
	if s == percents && rough > 20 && rough <= 25 {
		return 25
	}
	if s == counts {
		rough = max(rough, 1)
	}
	return decimalStep(rough)
}

func decimalStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// label formats the value of a tick, given the distance between ticks.
func (s scale) label(v, step float64) string {
	if s == percents {
		return number(v, step) + "%"
	}
	if v == 0 {
		return "0"
	}
	return number(v, step)
}

// number formats v with the decimals of the distance between ticks.
func number(v, step float64) string {
	decimals := 0
	for x := step; decimals < 6 && math.Abs(x-math.Round(x)) > 1e-6*x; x *= 10 {
		decimals++
	}
	whole, rest, _ := strings.Cut(fmt.Sprintf("%.*f", decimals, v), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest == "" {
		return whole
	}
	return whole + "." + rest
}
