package chart

import (
	"fmt"
	"html"
)

// Sankey draws moves between nodes as bands from left to right, whose width is the number of moves.
type Sankey struct {
	ID          string // unique on the page
	Title, Desc string
	Nodes       []Node
	Moves       []Move // each to the next column
}

// Node is a place in a column.
type Node struct {
	Name   string
	Column int
	Link   string // empty: none
}

// Move counts the moves from one node to another, by their indexes.
type Move struct {
	From, To int
	N        float64
	Hover    string
}

const (
	nodeWidth    = 8.0
	nodeGap      = 7.0
	labelHeight  = 2 * lineHeight
	sankeyHeight = 240.0 // for the column with the most moves
)

// SVG draws the moves at a width in pixels, as an element with a class. With hover, bands have tooltips.
func (s *Sankey) SVG(class string, width float64, hover bool) string {
	in, out := make([]float64, len(s.Nodes)), make([]float64, len(s.Nodes))
	for _, m := range s.Moves {
		out[m.From] += m.N
		in[m.To] += m.N
	}
	most, columns := map[int]float64{}, 0
	for i, n := range s.Nodes {
		most[n.Column] += max(in[i], out[i])
		columns = max(columns, n.Column+1)
	}
	scale := 0.0
	for _, n := range most {
		scale = max(scale, n)
	}
	scale = sankeyHeight / max(scale, 1)
	y, height, end := make([]float64, len(s.Nodes)), 0.0, make([]float64, columns)
	for i, n := range s.Nodes { // stacked in order
		high := max(in[i], out[i]) * scale
		nodeHeight := max(high, labelHeight)
		y[i] = end[n.Column] + (nodeHeight-high)/2
		end[n.Column] += nodeHeight + nodeGap
		height = max(height, end[n.Column])
	}
	d, pitch := new(drawing), width/float64(columns)
	d.begin(s.ID+"-"+class, class, s.Title, s.Desc, width, height)
	from, to := make([]float64, len(s.Nodes)), make([]float64, len(s.Nodes)) // heights used by bands so far
	for _, m := range s.Moves {
		hoverText := ""
		if hover {
			hoverText = m.Hover
		}
		x := pitch * float64(s.Nodes[m.From].Column)
		d.band(x+nodeWidth, y[m.From]+from[m.From], x+pitch, y[m.To]+to[m.To], m.N*scale, hoverText)
		from[m.From] += m.N * scale
		to[m.To] += m.N * scale
	}
	for i, n := range s.Nodes {
		x, high := pitch*float64(n.Column), max(in[i], out[i])
		d.rect("c1", x, y[i], nodeWidth, max(high*scale, 1))
		left, middle := x+nodeWidth*1.5+3, y[i]+high*scale/2
		d.text("name", "start", left, middle-2, clip(n.Name, x+pitch-left-3))
		d.text("name", "start", left, middle-2+lineHeight, number(high, 1))
		if n.Link != "" {
			d.hit("hit", x, middle-lineHeight, min(pitch, 110), 2*lineHeight, "", n.Link)
		}
	}
	return d.end()
}

// band draws a move to the next column.
func (d *drawing) band(x1, y1, x2, y2, high float64, hover string) {
	middle := px((x1 + x2) / 2)
	fmt.Fprintf(d, `<path class="c4 part" fill="#bcd" d="M%s %sC%s %s %s %s %s %sV%sC%s %s %s %s %s %sZ">`,
		px(x1), px(y1), middle, px(y1), middle, px(y2), px(x2), px(y2),
		px(y2+high), middle, px(y2+high), middle, px(y1+high), px(x1), px(y1+high))
	if hover != "" {
		fmt.Fprintf(d, "<title>%s</title>", html.EscapeString(hover))
	}
	d.WriteString("</path>\n")
}
