package chart

import (
	"fmt"
	"math"
	"sort"
)

// narrowest is the width below which nothing fits beside a plot.
const narrowest = 400.0

// above returns the space above a panel's plot: for its title and, in a narrow drawing, the names
// of its series.
func (f *frame) above(p *Panel) float64 {
	if !f.narrow || len(p.Series) < 2 {
		return titleRoom
	}
	_, rows := f.rows(p)
	return titleRoom + float64(rows)*nameRoom
}

const nameRoom = 17.0

// rows distributes the names of a panel's series over lines, and returns the start and line of
// each.
func (f *frame) rows(p *Panel) (at []struct{ x, row float64 }, rows int) {
	x := 0.0
	for _, s := range p.Series {
		w := swatch + 4 + min(textWidth(s.Name), f.width/2)
		if x > 0 && x+w > f.width {
			x = 0
			rows++
		}
		at = append(at, struct{ x, row float64 }{x, float64(rows)})
		x += w + 12
	}
	return at, rows + 1
}

const swatch = 10.0

// names writes the names of several series on the right, each as close as possible to its last
// number.
func (f *frame) names(p *Panel, y float64, at func(float64) float64) {
	if len(p.Series) < 2 {
		return
	}
	if f.narrow {
		at, _ := f.rows(p)
		for n, s := range p.Series {
			f.name(p, n, at[n].x, y-f.above(p)+titleRoom+at[n].row*nameRoom, clip(s.Name, f.width/2))
		}
		return
	}
	type label struct {
		series int
		y      float64
	}
	var labels []label
	last := -1 // the last bin with a number
	for i := range p.bins() {
		for _, s := range p.Series {
			if !math.IsNaN(s.Values[i]) && (p.Kind == Lines || s.Values[i] > 0) {
				last = i
			}
		}
	}
	sum := 0.0
	for n, s := range p.Series {
		v := 0.0
		if last >= 0 && !math.IsNaN(s.Values[last]) {
			v = s.Values[last]
		}
		if p.Kind == Bars {
			labels = append(labels, label{n, at(sum + v/2)})
			sum += v
		} else {
			labels = append(labels, label{n, at(v)})
		}
	}
	sort.SliceStable(labels, func(i, j int) bool {
		if labels[i].y != labels[j].y {
			return labels[i].y < labels[j].y
		}
		return labels[i].series > labels[j].series
	})
	for i := range labels { // downwards, so that no name covers the one above it
		low := y + lineRoom/2
		if i > 0 {
			low = labels[i-1].y + lineRoom
		}
		labels[i].y = max(labels[i].y, low)
	}
	for i := len(labels) - 1; i >= 0; i-- { // then upwards from the end of the plot
		high := y + p.Height
		if i < len(labels)-1 {
			high = labels[i+1].y - lineRoom
		}
		labels[i].y = min(labels[i].y, high)
	}
	for _, l := range labels {
		x := f.right + gap
		f.name(p, l.series, x, l.y, clip(p.Series[l.series].Name, f.width-x-swatch-4))
	}
}

// name writes the name of a panel's n-th series after a sample of its mark; y is the middle of the
// line.
func (f *frame) name(p *Panel, n int, x, y float64, name string) {
	s := p.Series[n]
	if p.Kind == Bars {
		f.rect(fmt.Sprintf("c%d", s.Color), x, y-swatch/2, swatch, swatch)
	} else {
		f.line(p.class(n), x, y, x+swatch, y)
	}
	f.text("name", "start", x+swatch+4, y+4, name)
}
