// Package chart draws SVG: bars and lines over shared bins, and flows between columns of nodes. Marks have classes instead of
// colours, which the page's style sheet defines; text widths are estimated. It knows nothing about calls.
package chart

import (
	"fmt"
	"math"
	"strings"
)

// Kind is the form of a panel.
type Kind uint8

const (
	Bars  Kind = iota
	Lines      // with gaps where there is no number
)

// Panel is one plot of a chart: a number for each bin.
type Panel struct {
	Title  string
	Kind   Kind
	Scale  Scale
	Height float64   // of the plot alone
	Symbol string    // before amounts other than 0
	Values []float64 // NaN is left out
}

// Bin is a place on the axis shared by all panels.
type Bin struct {
	Label string // below the axis, if it fits
	Group string // below the labels, where it changes
	Tick  bool   // if any bin has a tick, only bins with ticks have labels
	Part  bool   // incomplete
	Hover string // text of the tooltip
	Link  string // link; empty: none
}

// Chart is a column of panels over shared bins.
type Chart struct {
	ID          string // unique on the page
	Title, Desc string
	Bins        []Bin
	Panels      []Panel
	NoData      string // text of a plot that has no numbers
}

const (
	titleHeight = 26.0 // above a plot, for its title
	panelGap    = 14.0
	gap         = 6.0 // between a text and its neighbour
)

// frame is the geometry of a chart's plots.
type frame struct {
	*Chart
	*drawing
	left, right float64 // of the plots
	width       float64 // of the drawing
	step        float64 // of a bin
}

// SVG draws the chart at a width in pixels, as an element with a class. With hover, bins have tooltips.
func (c *Chart) SVG(class string, width float64, hover bool) string {
	f := &frame{Chart: c, drawing: new(drawing), width: width, left: 20, right: width - 4}
	bottom := -panelGap
	for i := range c.Panels {
		p := &c.Panels[i]
		bottom += titleHeight + p.Height + panelGap
		for _, s := range p.labels() {
			f.left = max(f.left, textWidth(s))
		}
	}
	f.left += gap
	f.step = (f.right - f.left) / float64(max(len(c.Bins), 1))
	f.begin(c.ID+"-"+class, class, c.Title, c.Desc, width, bottom+gap+2*lineHeight+2)
	y := 0.0
	for i := range c.Panels {
		y += titleHeight
		f.panel(&c.Panels[i], y)
		y += c.Panels[i].Height + panelGap
	}
	f.axis(bottom)
	for i, b := range c.Bins { // above everything else
		if !hover {
			b.Hover = ""
		}
		if b.Hover != "" || b.Link != "" {
			f.hit("hit", f.left+float64(i)*f.step, 0, f.step, bottom, b.Hover, b.Link)
		}
	}
	return f.end()
}

// ends returns the smallest and the largest number; low is above high if there is none.
func (p *Panel) ends() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range p.Values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// ticks returns the values of the axis with lines. Lines of shares cover only their range.
func (p *Panel) ticks() []float64 {
	n := max(2, min(4, int(p.Height/28)))
	low, high := p.ends()
	if p.Kind == Lines && p.Scale == Percent && low <= high {
		return p.Scale.Between(low, high, n)
	}
	return p.Scale.Ticks(max(high, 0), n)
}

// labels returns the texts of the ticks.
func (p *Panel) labels() []string {
	at := p.ticks()
	out := make([]string, len(at))
	for i, v := range at {
		if out[i] = p.Scale.Label(v, at[1]-at[0]); v != 0 && p.Scale == Money {
			out[i] = p.Symbol + out[i]
		}
	}
	return out
}

func (f *frame) panel(p *Panel, y float64) {
	f.text("pt", "start", 0, y-titleHeight+13, p.Title)
	ticks, labels := p.ticks(), p.labels()
	low, top := ticks[0], ticks[len(ticks)-1]
	at := func(v float64) float64 { return y + p.Height*(1-(v-low)/(top-low)) }
	for i, v := range ticks {
		class := "grid"
		if v == 0 {
			class = "base"
		}
		f.line(class, f.left, at(v), f.right, at(v))
		f.text("tick", "end", f.left-gap, at(v)+4, labels[i])
	}
	switch least, most := p.ends(); {
	case least > most:
		f.text("none", "middle", (f.left+f.right)/2, y+p.Height/2+4, f.NoData)
	case p.Kind == Bars:
		w := min(max(f.step-2, f.step*.8), 40)
		for i, v := range p.Values {
			if class := "c1"; v > 0 {
				if f.Bins[i].Part {
					class += " part"
				}
				f.rect(class, f.left+(float64(i)+.5)*f.step-w/2, at(v), w, at(0)-at(v))
			}
		}
	default:
		f.lines(p, at)
	}
}

func (f *frame) lines(p *Panel, at func(float64) float64) {
	x := func(i int) float64 { return f.left + (float64(i)+.5)*f.step }
	for from := 0; from < len(p.Values); from++ {
		if math.IsNaN(p.Values[from]) {
			continue
		}
		to := from
		var path strings.Builder
		for ; to < len(p.Values) && !math.IsNaN(p.Values[to]); to++ {
			fmt.Fprintf(&path, "%s%s,%s", map[bool]string{true: "M", false: "L"}[to == from], px(x(to)), px(at(p.Values[to])))
		}
		if to == from+1 { // a single point between gaps
			f.dot("c1", x(from), at(p.Values[from]), 2.5)
		} else {
			fmt.Fprintf(f, `<path class="s1" fill="none" stroke="#456" d="%s"/>`+"\n", path.String())
		}
		from = to
	}
	for i, v := range p.Values {
		if f.Bins[i].Part && !math.IsNaN(v) {
			f.dot("hollow s1", x(i), at(v), 3)
		}
	}
}
