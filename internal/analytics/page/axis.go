package page

import (
	"cmp"
	"math"
	"slices"
)

// axis writes as many labels of bins as fit, and the groups of bins.
func (f *frame) axis(bottom float64) {
	y := bottom + gap + lineHeight - 3
	at := func(i int) float64 { return f.left + (float64(i)+.5)*f.step }
	for _, i := range f.labelled() {
		f.line("base", at(i), bottom, at(i), bottom+4)
		f.text("tick", "middle", at(i), y, f.bins[i].label)
	}
	for _, g := range f.groups() {
		f.text("tick group", "start", g.x, y+lineHeight, g.text)
	}
}

// group is the place of a name that several bins share.
type group struct {
	text string
	x    float64
	bins int
}

// groups returns the names of groups that fit, those of most bins first: the name of a single day's
// month must not take the place of the next month's.
func (f *frame) groups() (out []group) {
	var all []group
	for i, b := range f.bins {
		if i == 0 || b.group != f.bins[i-1].group {
			x := min(f.left+float64(i)*f.step, f.width-textWidth(b.group))
			all = append(all, group{text: b.group, x: max(x, f.left)})
		}
		all[len(all)-1].bins++
	}
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Compare(b.bins, a.bins) })
	for _, g := range all {
		covers := func(o group) bool { return g.x < o.x+textWidth(o.text)+8 && o.x < g.x+textWidth(g.text)+8 }
		if g.text != "" && !slices.ContainsFunc(out, covers) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b group) int { return cmp.Compare(a.x, b.x) })
	return out
}

// labelled returns the bins with labels: every candidate, every second one, and so on, until they fit.
func (f *frame) labelled() []int {
	var from, ticks []int
	for i, b := range f.bins {
		if b.label != "" {
			from = append(from, i)
		}
		if b.label != "" && b.tick {
			ticks = append(ticks, i)
		}
	}
	if len(ticks) > 0 {
		from = ticks
	}
	for every := 1; every <= len(from); every++ {
		var out []int
		fits, end := true, math.Inf(-1)
		for n := 0; n < len(from); n += every {
			x, w := f.left+float64(from[n])*f.step, textWidth(f.bins[from[n]].label)
			fits = fits && x-w/2 >= end
			end = x + w/2 + gap
			out = append(out, from[n])
		}
		if fits {
			return out
		}
	}
	return nil
}
