package chart

import (
	"fmt"
	"math"
	"strings"
)

// Spark is a line without axes, drawn over a band of usual values. Its last point stands out.
type Spark struct {
	ID, Title, Desc   string
	Values, Low, High []float64 // NaN is not drawn
	Worse             bool      // the last point has the colour for a change to the worse
}

// SVG draws the line at a size in pixels; empty if there is no number.
func (s *Spark) SVG(width, height float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, all := range [][]float64{s.Values, s.Low, s.High} {
		for _, v := range all {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low > high {
		return ""
	}
	d := new(drawing)
	d.begin(s.ID, "spark", s.Title, s.Desc, width, height)
	if low == high {
		low, high = low-1, high+1
	}
	const edge = 4.0
	x := func(i int) float64 { return edge + float64(i)*(width-2*edge)/float64(max(len(s.Values)-1, 1)) }
	y := func(v float64) float64 { return edge + (height-2*edge)*(1-(v-low)/(high-low)) }
	path := func(values []float64, back bool) string {
		var out strings.Builder
		for n := range values {
			i := n
			if back {
				i = len(values) - 1 - n
			}
			if !math.IsNaN(values[i]) {
				fmt.Fprintf(&out, "%s%s,%s", map[bool]string{true: "M", false: "L"}[out.Len() == 0 && !back], px(x(i)), px(y(values[i])))
			}
		}
		return out.String()
	}
	if band := path(s.High, false); band != "" {
		fmt.Fprintf(d, `<path class="band" fill="#dde" d="%s%sZ"/>`+"\n", band, path(s.Low, true))
	}
	fmt.Fprintf(d, `<path class="s1" fill="none" stroke="#456" d="%s"/>`+"\n", path(s.Values, false))
	if last := len(s.Values) - 1; last >= 0 && !math.IsNaN(s.Values[last]) {
		class := "c1"
		if s.Worse {
			class = "worse"
		}
		d.dot(class, x(last), y(s.Values[last]), 3.5)
	}
	return d.end()
}
