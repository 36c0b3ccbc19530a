package chart

import (
	"cmp"
	"fmt"
	"html"
	"slices"
)

// Sankey draws moves between nodes as bands from left to right, whose width is the number of moves.
// Moves back to an earlier node are not drawn.
type Sankey struct {
	ID          string // unique on the page
	Title, Desc string
	Nodes       []string // the first is the start
	Moves       []Move
	Others      func(nodes int) string // name of the node that stands for the nodes that do not fit
	Hover       func(m Move, from, to string) string
	Link        func(node string) string // nil: none
}

// Move counts the moves from one node to another. To is negative at the end.
type Move struct {
	From, To int
	N        float64
}

const (
	nodeWidth  = 8.0
	nodeGap    = 7.0
	nodeRoom   = 110.0 // of a column with its names
	labelRoom  = 2 * lineRoom
	sankeyRoom = 240.0 // for the column with the most moves
)

// place is a node in its column, or a band passing through a column.
type place struct {
	node, col     int // node: -1 for a band
	y, high       float64
	near, weights float64 // weighted positions of its sources
}

// piece is a band between adjacent columns.
type piece struct {
	Move
	from, to *place
	y1, y2   float64
}

// folded returns the nodes that fit, and the moves between them. The other nodes become one.
func (s *Sankey) folded(room int) (names []string, moves []Move) {
	into := make([]float64, len(s.Nodes))
	for _, m := range s.Moves {
		if m.To >= 0 {
			into[m.To] += m.N
		}
	}
	order := make([]int, 0, len(s.Nodes))
	for i := range s.Nodes {
		order = append(order, i)
	}
	slices.SortStableFunc(order[1:], func(a, b int) int { return cmp.Compare(into[b], into[a]) })
	kept := min(len(order), 1+max(room, 2))
	if len(order) == kept+1 { // a single remaining node keeps its name
		kept++
	}
	at := make([]int, len(order))
	for rank, i := range order {
		if at[i] = min(rank, kept); rank < kept {
			names = append(names, s.Nodes[i])
		}
	}
	if kept < len(order) {
		names = append(names, s.Others(len(order)-kept))
	}
	sums := map[[2]int]float64{}
	for _, m := range s.Moves {
		if m.To >= 0 {
			m.To = at[m.To]
		}
		sums[[2]int{at[m.From], m.To}] += m.N
	}
	for ends, n := range sums {
		if ends[0] != ends[1] && n > 0 {
			moves = append(moves, Move{ends[0], ends[1], n})
		}
	}
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return names, moves
}

// forward returns the moves that form no loop, largest first, and the column of each node.
func forward(nodes int, moves []Move) (out []Move, cols []int) {
	var reaches func(from, to int) bool
	reaches = func(from, to int) bool {
		return from == to || slices.ContainsFunc(out, func(m Move) bool { return m.From == from && reaches(m.To, to) })
	}
	for _, m := range moves {
		if m.To > 0 && !reaches(m.To, m.From) {
			out = append(out, m)
		}
	}
	cols = make([]int, nodes)
	for i := 1; i < nodes; i++ {
		cols[i] = 1
	}
	for range nodes {
		for _, m := range out {
			cols[m.To] = max(cols[m.To], cols[m.From]+1)
		}
	}
	return out, cols
}

// SVG draws the moves at a width in pixels.
func (s *Sankey) SVG(name string, width float64, hover bool) string {
	names, all := s.folded(int(width / nodeRoom))
	moves, cols := forward(len(names), all)
	last := slices.Max(cols)
	columns := make([][]*place, last+1)
	nodes := make([]*place, len(names))
	flow := make([][2]float64, len(names))
	for _, m := range all {
		flow[m.From][1] += m.N
		if m.To >= 0 {
			flow[m.To][0] += m.N
		}
	}
	for i := range names {
		nodes[i] = &place{node: i, col: cols[i], high: max(flow[i][0], flow[i][1])}
		columns[cols[i]] = append(columns[cols[i]], nodes[i])
	}
	paths := make([][]*place, len(moves)) // of each move, from node to node
	for i, m := range moves {
		paths[i] = []*place{nodes[m.From]}
		for col := cols[m.From] + 1; col < cols[m.To]; col++ {
			p := &place{node: -1, col: col, high: m.N}
			columns[col], paths[i] = append(columns[col], p), append(paths[i], p)
		}
		paths[i] = append(paths[i], nodes[m.To])
	}
	scale, height := arrange(columns, paths, moves)

	d := new(drawing)
	d.begin(s.ID+"-"+name, name, s.Title, s.Desc, width, height)
	pitch := width / float64(last+1)
	told := func(m Move) string {
		if !hover {
			return ""
		}
		to := ""
		if m.To >= 0 {
			to = names[m.To]
		}
		return s.Hover(m, names[m.From], to)
	}
	var bands []*piece
	for i, m := range moves {
		for n, to := range paths[i][1:] {
			bands = append(bands, &piece{Move: m, from: paths[i][n], to: to})
		}
	}
	used := map[*place]float64{} // height used by bands so far; sorting keeps bands from crossing at the node
	slices.SortStableFunc(bands, func(a, b *piece) int { return cmp.Compare(a.to.y, b.to.y) })
	for _, b := range bands {
		b.y1 = b.from.y + used[b.from]
		used[b.from] += b.N * scale
	}
	clear(used)
	slices.SortStableFunc(bands, func(a, b *piece) int { return cmp.Compare(a.y1, b.y1) })
	for _, b := range bands {
		b.y2 = b.to.y + used[b.to]
		used[b.to] += b.N * scale
		d.band(pitch*float64(b.from.col)+nodeWidth, b.y1, pitch*float64(b.to.col), b.y2, b.N*scale, told(b.Move))
	}
	for i, p := range nodes {
		x := pitch * float64(p.col)
		d.rect("c1", x, p.y, nodeWidth, max(p.high, 1))
		for _, m := range all {
			if m.From == i && m.To < 0 {
				d.hit("c2", x+nodeWidth, p.y+p.high-m.N*scale, nodeWidth/2, max(m.N*scale, .5), told(m), "")
			}
		}
		left, middle := x+nodeWidth*1.5+3, p.y+p.high/2
		d.text("name", "start", left, middle-2, clip(names[i], x+pitch-left-3))
		d.text("name", "start", left, middle-2+lineRoom, number(max(flow[i][0], flow[i][1]), 1))
		if s.Link != nil && s.Link(names[i]) != "" {
			d.hit("hit", x, middle-lineRoom, min(pitch, nodeRoom), 2*lineRoom, "", s.Link(names[i]))
		}
	}
	return d.end()
}

// arrange stacks the places of each column close to their sources, and returns the scale (height of
// one move) and the height of the drawing.
func arrange(columns, paths [][]*place, moves []Move) (scale, height float64) {
	most := 0.0
	for _, c := range columns {
		sum := 0.0
		for _, p := range c {
			sum += p.high
		}
		most = max(most, sum)
	}
	scale = sankeyRoom / max(most, 1)
	for _, c := range columns {
		for i, p := range c {
			if p.weights > 0 {
				p.near /= p.weights
			} else {
				p.near = float64(i)
			}
		}
		slices.SortStableFunc(c, func(a, b *place) int { return cmp.Compare(a.near, b.near) })
		y := 0.0
		for _, p := range c {
			p.high *= scale
			room := p.high
			if p.node >= 0 {
				room = max(room, labelRoom)
			}
			p.y = y + (room-p.high)/2
			y += room + nodeGap
			for i, path := range paths {
				if at := slices.Index(path, p); at >= 0 && at+1 < len(path) {
					next := path[at+1]
					next.near += (p.y + p.high/2) * moves[i].N
					next.weights += moves[i].N
				}
			}
		}
		height = max(height, y)
	}
	return scale, height
}

// band draws a move to the next column, and across that column if it continues.
func (d *drawing) band(x1, y1, x2, y2, high float64, told string) {
	middle, below := px((x1+x2)/2), px(y2+high)
	fmt.Fprintf(d, `<path class="c4 part" fill="#bcd" d="M%s %sC%s %s %s %s %s %sH%sV%sH%sC%s %s %s %s %s %sZ"`,
		px(x1), px(y1), middle, px(y1), middle, px(y2), px(x2), px(y2), px(x2+nodeWidth), below, px(x2), middle, below, middle,
		px(y1+high), px(x1), px(y1+high))
	if told == "" {
		d.WriteString("/>\n")
		return
	}
	fmt.Fprintf(d, "><title>%s</title></path>\n", html.EscapeString(told))
}
