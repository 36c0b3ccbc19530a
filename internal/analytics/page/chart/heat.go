package chart

import (
	"fmt"
	"math"
)

// Heat is a heat map of rows and columns.
type Heat struct {
	ID          string // unique on the page
	Title, Desc string
	Down        []string
	Across      []string
	Values      [][]float64 // by row; NaN is not drawn
	Links       [][]string  // by row: links of cells; empty: none
	Every       int         // columns per label
}

// steps is the number of strengths besides zero.
const steps = 5

// bounds returns the upper ends of the steps: whole numbers at distances as equal as possible.
func (h *Heat) bounds() []float64 {
	most := 0.0
	for _, row := range h.Values {
		for _, v := range row {
			if !math.IsNaN(v) {
				most = max(most, v)
			}
		}
	}
	var out []float64
	for i := 1; i <= steps; i++ {
		b := math.Ceil(most * float64(i) / steps)
		if b > 0 && (len(out) == 0 || b > out[len(out)-1]) {
			out = append(out, b)
		}
	}
	return out
}

// strength returns the step of a number, 1 to 5; 0 for zero.
func strength(v float64, bounds []float64) int {
	if v <= 0 || math.IsNaN(v) {
		return 0
	}
	for i, b := range bounds {
		if v <= b {
			return class(i, len(bounds))
		}
	}
	return steps
}

// class spreads the available steps over all strengths; the last step is always the strongest.
func class(i, of int) int { return steps - (of-1-i)*steps/of }

// SVG draws the map at a width in pixels. Cells show their numbers if all fit.
func (h *Heat) SVG(name string, width float64, hover bool) string {
	d := new(drawing)
	left := 0.0
	for _, s := range h.Down {
		left = max(left, textWidth(s))
	}
	left += gap
	w := (width - left - 1) / float64(max(len(h.Across), 1))
	high := max(min(w*1.2, 26), 18)
	bounds := h.bounds()
	marks, rows := legend(left, width, bounds)
	height := float64(len(h.Down))*high + lineRoom + gap + 10 + float64(rows)*legendRoom
	d.begin(h.ID+"-"+name, name, h.Title, h.Desc, width, height)
	numbers := h.fit(w)
	for i, row := range h.Values {
		y := float64(i) * high
		d.text("tick", "end", left-gap, y+high/2+4, h.Down[i])
		for j, v := range row {
			if math.IsNaN(v) {
				continue
			}
			x, s := left+float64(j)*w, strength(v, bounds)
			told, to := "", ""
			if hover {
				told = h.Down[i] + " " + h.Across[j] + ": " + number(v, 1)
			}
			if h.Links != nil {
				to = h.Links[i][j]
			}
			d.hit(fmt.Sprintf("h%d", s), x+.5, y+.5, w-1, high-1, told, to)
			if numbers && v > 0 {
				d.text(fmt.Sprintf("hn%d", s), "middle", x+w/2, y+high/2+3.5, number(v, 1))
			}
		}
	}
	y := float64(len(h.Down))*high + lineRoom
	for j := 0; j < len(h.Across); j += max(h.Every, 1) {
		d.text("tick", "middle", left+(float64(j)+.5)*w, y, h.Across[j])
	}
	y += gap + 8
	for _, m := range marks {
		at := y + float64(m.row)*legendRoom
		d.rect(fmt.Sprintf("h%d", m.strength), m.x, at, 12, 12)
		d.text("tick", "start", m.x+16, at+10, m.text)
	}
	return d.end()
}

// fit reports whether every number fits its cell.
func (h *Heat) fit(w float64) bool {
	for _, row := range h.Values {
		for _, v := range row {
			if v > 0 && textWidth(number(v, 1))*9.5/fontSize > w-2 {
				return false
			}
		}
	}
	return true
}

// legendRoom is the line height of the legend.
const legendRoom = 18.0

// mark is an entry of the legend: a strength and its range.
type mark struct {
	strength, row int
	x             float64
	text          string
}

// legend distributes the marks over as many lines as necessary.
func legend(left, width float64, bounds []float64) (marks []mark, rows int) {
	x, low := left, 0.0
	add := func(strength int, text string) {
		w := 16 + textWidth(text)
		if x > left && x+w > width {
			x = left
			rows++
		}
		marks = append(marks, mark{strength, rows, x, text})
		x += w + 10
	}
	add(0, "0")
	for i, b := range bounds {
		low++
		s := number(low, 1)
		if b > low {
			s += "–" + number(b, 1)
		}
		add(class(i, len(bounds)), s)
		low = b
	}
	return marks, rows + 1
}
