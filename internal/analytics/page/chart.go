package page

import (
	"fmt"
	"math"
	"strings"
)

// panel is one plot of a chart: a number for each bin.
type panel struct {
	title  string
	bars   bool // instead of lines, with gaps where there is no number
	scale  scale
	height float64   // of the plot alone
	symbol string    // before amounts other than 0
	values []float64 // NaN is left out
}

// chart draws a column of panels over shared bins as SVG. Marks have classes instead of colours, which the style sheet
// defines; text widths are estimated.
type chart struct {
	id          string // unique on the page
	title, desc string
	bins        []bin
	panels      []panel
	noData      string // text of a plot that has no numbers
}

const (
	titleHeight = 26.0 // above a plot, for its title
	panelGap    = 14.0
	gap         = 6.0 // between a text and its neighbour
)

// frame is the geometry of a chart's plots.
type frame struct {
	*chart
	*drawing
	left, right float64 // of the plots
	width       float64 // of the drawing
	step        float64 // of a bin
}

// svg draws the chart at a width in pixels, as an element with a class. With hover, bins have tooltips.
func (c *chart) svg(class string, width float64, hover bool) string {
	f := &frame{chart: c, drawing: new(drawing), width: width, left: 20, right: width - 4}
	bottom := -panelGap
	for i := range c.panels {
		p := &c.panels[i]
		bottom += titleHeight + p.height + panelGap
		for _, s := range p.labels() {
			f.left = max(f.left, textWidth(s))
		}
	}
	f.left += gap
	f.step = (f.right - f.left) / float64(max(len(c.bins), 1))
	f.begin(c.id+"-"+class, class, c.title, c.desc, width, bottom+gap+2*lineHeight+2)
	y := 0.0
	for i := range c.panels {
		y += titleHeight
		f.panel(&c.panels[i], y)
		y += c.panels[i].height + panelGap
	}
	f.axis(bottom)
	for i, b := range c.bins { // above everything else
		if !hover {
			b.hover = ""
		}
		if b.hover != "" || b.link != "" {
			f.hit("hit", f.left+float64(i)*f.step, 0, f.step, bottom, b.hover, b.link)
		}
	}
	return f.end()
}

// ends returns the smallest and the largest number; low is above high if there is none.
func (p *panel) ends() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range p.values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// ticks returns the values of the axis with lines. Lines of shares cover only their range.
func (p *panel) ticks() []float64 {
	n := max(2, min(4, int(p.height/28)))
	low, high := p.ends()
	if !p.bars && p.scale == percents && low <= high {
		return p.scale.between(low, high, n)
	}
	return p.scale.ticks(max(high, 0), n)
}

// labels returns the texts of the ticks.
func (p *panel) labels() []string {
	at := p.ticks()
	out := make([]string, len(at))
	for i, v := range at {
		if out[i] = p.scale.label(v, at[1]-at[0]); v != 0 && p.scale == amounts {
			out[i] = p.symbol + out[i]
		}
	}
	return out
}

func (f *frame) panel(p *panel, y float64) {
	f.text("pt", "start", 0, y-titleHeight+13, p.title)
	ticks, labels := p.ticks(), p.labels()
	low, top := ticks[0], ticks[len(ticks)-1]
	at := func(v float64) float64 { return y + p.height*(1-(v-low)/(top-low)) }
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
		f.text("none", "middle", (f.left+f.right)/2, y+p.height/2+4, f.noData)
	case p.bars:
		w := min(max(f.step-2, f.step*.8), 40)
		for i, v := range p.values {
			if class := "c1"; v > 0 {
				if f.bins[i].part {
					class += " part"
				}
				f.rect(class, f.left+(float64(i)+.5)*f.step-w/2, at(v), w, at(0)-at(v))
			}
		}
	default:
		f.lines(p, at)
	}
}

func (f *frame) lines(p *panel, at func(float64) float64) {
	x := func(i int) float64 { return f.left + (float64(i)+.5)*f.step }
	for from := 0; from < len(p.values); from++ {
		if math.IsNaN(p.values[from]) {
			continue
		}
		to := from
		var path strings.Builder
		for ; to < len(p.values) && !math.IsNaN(p.values[to]); to++ {
			fmt.Fprintf(&path, "%s%s,%s", map[bool]string{true: "M", false: "L"}[to == from], px(x(to)), px(at(p.values[to])))
		}
		if to == from+1 { // a single point between gaps
			f.dot("c1", x(from), at(p.values[from]), 2.5)
		} else {
			fmt.Fprintf(f, `<path class="s1" fill="none" stroke="#456" d="%s"/>`+"\n", path.String())
		}
		from = to
	}
	for i, v := range p.values {
		if f.bins[i].part && !math.IsNaN(v) {
			f.dot("hollow s1", x(i), at(v), 3)
		}
	}
}
