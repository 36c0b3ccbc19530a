package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the form of a panel.
type Kind uint8

const (
	Bars  Kind = iota // stacked, the first series lowest
	Lines             // with gaps where there is no number
)

// Series has one number per bin. NaN is left out.
type Series struct {
	Name   string
	Color  int // 1 to 6: the class c1 to c6; 0: the baseline
	Values []float64
}

// Panel is one plot of a chart.
type Panel struct {
	Title  string
	Kind   Kind
	Scale  Scale
	Top    float64 // minimum upper end of the axis; 0: that of the data
	Zoom   bool    // for shares as lines: the axis covers only their range and need not begin at 0
	Height float64 // of the plot alone
	// Label formats the values of the axis; nil: by its scale.
	Label  func(v, step float64) string
	Series []Series
	Marks  []int // bins marked above the plot
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
	Edges       bool   // labels are at the beginning of their bins, not below the middle
}

const (
	titleRoom = 26.0 // above a plot, for its title
	panelGap  = 14.0
	ticksWant = 4
	gap       = 6.0 // between a text and its neighbour
)

// frame is the geometry of a chart's plots.
type frame struct {
	*Chart
	*drawing
	left, right float64 // of the plots
	width       float64 // of the drawing
	step        float64 // of a bin
	narrow      bool    // names of series are above the plots, not beside them
}

// SVG draws the chart at a width in pixels, as an element with a class. With hover, bins have
// tooltips.
func (c *Chart) SVG(class string, width float64, hover bool) string {
	f := &frame{Chart: c, drawing: new(drawing), width: width}
	f.narrow = width < narrowest
	f.left, f.right = c.leftRoom(), width-4
	if !f.narrow {
		f.right = width - c.rightRoom(width)
	}
	f.step = (f.right - f.left) / float64(max(len(c.Bins), 1))
	height := 0.0
	for i := range c.Panels {
		height += f.above(&c.Panels[i]) + c.Panels[i].Height + panelGap
	}
	bottom := height - panelGap
	height = bottom + gap + 2*lineRoom
	if !c.grouped() {
		height -= lineRoom
	}
	f.begin(c.ID+"-"+class, class, c.Title, c.Desc, width, height+2)
	y := 0.0
	for i := range c.Panels {
		y += f.above(&c.Panels[i])
		f.panel(&c.Panels[i], y)
		y += c.Panels[i].Height + panelGap
	}
	f.axis(bottom)
	f.hits(bottom, hover)
	return f.end()
}

func (c *Chart) grouped() bool {
	for _, b := range c.Bins {
		if b.Group != "" {
			return true
		}
	}
	return false
}

// top returns the upper end of a panel's numbers.
func (p *Panel) top() float64 {
	top := p.Top
	for i := range p.bins() {
		sum := 0.0
		for _, s := range p.Series {
			if v := s.Values[i]; !math.IsNaN(v) {
				if p.Kind == Bars {
					sum += v
				} else {
					sum = max(sum, v)
				}
			}
		}
		top = max(top, sum)
	}
	// Summed shares may slightly exceed the whole.
	if p.Scale == Percent && top > 100 && top < 100.001 {
		top = 100
	}
	return top
}

func (p *Panel) bins() int {
	if len(p.Series) == 0 {
		return 0
	}
	return len(p.Series[0].Values)
}

func (p *Panel) empty() bool {
	for _, s := range p.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				return false
			}
		}
	}
	return true
}

// ticks returns the values of the axis with lines.
func (p *Panel) ticks() []float64 {
	n := max(2, min(ticksWant, int(p.Height/28)))
	if !p.Zoom || p.empty() {
		return p.Scale.Ticks(p.top(), n)
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range p.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return p.Scale.Between(low, high, n)
}

// labels returns the texts of the ticks.
func (p *Panel) labels() []string {
	at := p.ticks()
	out := make([]string, len(at))
	for i, v := range at {
		if out[i] = p.Scale.Label(v, at[1]-at[0]); p.Label != nil {
			out[i] = p.Label(v, at[1]-at[0])
		}
	}
	return out
}

func (c *Chart) leftRoom() float64 {
	room := 20.0
	for i := range c.Panels {
		for _, s := range c.Panels[i].labels() {
			room = max(room, textWidth(s))
		}
	}
	return room + gap
}

// rightRoom returns the room for the names of several series.
func (c *Chart) rightRoom(width float64) float64 {
	room := 4.0
	for _, p := range c.Panels {
		if len(p.Series) < 2 {
			continue
		}
		for _, s := range p.Series {
			room = max(room, gap+swatch+5+textWidth(s.Name))
		}
	}
	return min(room, width*.3)
}

// hits draws the areas with tooltips and links, above everything else.
func (f *frame) hits(bottom float64, hover bool) {
	for i, b := range f.Bins {
		if !hover {
			b.Hover = ""
		}
		if b.Hover == "" && b.Link == "" {
			continue
		}
		f.hit("hit", f.left+float64(i)*f.step, 0, f.step, bottom, b.Hover, b.Link)
	}
}

func (f *frame) panel(p *Panel, y float64) {
	f.text("pt", "start", 0, y-f.above(p)+13, p.Title)
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
	if p.empty() {
		f.text("none", "middle", (f.left+f.right)/2, y+p.Height/2+4, f.NoData)
		return
	}
	if p.Kind == Bars {
		f.bars(p, at)
	} else {
		f.lines(p, at)
	}
	for _, i := range p.Marks {
		f.text("mark", "middle", f.left+(float64(i)+.5)*f.step, y-2, "▼")
	}
	f.names(p, y, at)
}

func (f *frame) bars(p *Panel, at func(float64) float64) {
	w := min(max(f.step-2, f.step*.8), 40)
	if f.Edges { // the steps of a distribution touch each other
		w = max(f.step-1, f.step*.8)
	}
	for i := range p.bins() {
		x := f.left + (float64(i)+.5)*f.step - w/2
		sum := 0.0
		for _, s := range p.Series {
			v := s.Values[i]
			if math.IsNaN(v) || v <= 0 {
				continue
			}
			class := fmt.Sprintf("c%d", s.Color)
			if f.Bins[i].Part {
				class += " part"
			}
			f.rect(class, x, at(sum+v), w, at(sum)-at(sum+v))
			sum += v
		}
	}
}

// class returns the class of the n-th series' line: dashed if an earlier series has a colour.
func (p *Panel) class(n int) string {
	class := fmt.Sprintf("s%d", p.Series[n].Color)
	if slices.ContainsFunc(p.Series[:n], func(s Series) bool { return s.Color > 0 }) {
		class += " dash"
	}
	return class
}

func (f *frame) lines(p *Panel, at func(float64) float64) {
	for n, s := range p.Series {
		class := p.class(n)
		x := func(i int) float64 { return f.left + (float64(i)+.5)*f.step }
		for from := 0; from < len(s.Values); from++ {
			if math.IsNaN(s.Values[from]) {
				continue
			}
			to := from
			var path strings.Builder
			for ; to < len(s.Values) && !math.IsNaN(s.Values[to]); to++ {
				fmt.Fprintf(&path, "%s%s,%s", map[bool]string{true: "M", false: "L"}[to == from], px(x(to)), px(at(s.Values[to])))
			}
			if to == from+1 { // a single point between gaps
				f.dot(fmt.Sprintf("c%d", s.Color), x(from), at(s.Values[from]), 2.5)
			} else {
				fmt.Fprintf(f, `<path class="%s" fill="none" stroke="#456" d="%s"/>`+"\n", class, path.String())
			}
			from = to
		}
		for i, v := range s.Values {
			if f.Bins[i].Part && !math.IsNaN(v) {
				f.dot(fmt.Sprintf("hollow s%d", s.Color), x(i), at(v), 3)
			}
		}
	}
}

// Plus adds two series. NaN counts as 0 if the other number exists.
func Plus(a, b []float64) []float64 {
	if a == nil {
		return b
	}
	out := make([]float64, len(a))
	for i := range a {
		switch {
		case math.IsNaN(a[i]):
			out[i] = b[i]
		case math.IsNaN(b[i]):
			out[i] = a[i]
		default:
			out[i] = a[i] + b[i]
		}
	}
	return out
}
