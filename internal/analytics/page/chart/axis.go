package chart

import "math"

// axis writes as many labels of bins as fit, and the groups of bins.
func (f *frame) axis(bottom float64) {
	y := bottom + gap + lineHeight - 3
	at := func(i int) float64 { return f.left + (float64(i)+.5)*f.step }
	for _, i := range f.labelled() {
		f.line("base", at(i), bottom, at(i), bottom+4)
		f.text("tick", "middle", at(i), y, f.Bins[i].Label)
	}
	end, before := math.Inf(-1), ""
	for i, b := range f.Bins {
		if b.Group == before {
			continue
		}
		before = b.Group
		x := max(at(i)-f.step/2, f.left)
		if w := textWidth(b.Group); x >= end && x+w <= f.width {
			f.text("tick group", "start", x, y+lineHeight, b.Group)
			end = x + w + 8
		}
	}
}

// labelled returns the bins with labels: every candidate, every second one, and so on, until they
// fit.
func (f *frame) labelled() []int {
	var from, ticks []int
	for i, b := range f.Bins {
		if b.Label != "" {
			from = append(from, i)
		}
		if b.Label != "" && b.Tick {
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
			x, w := f.left+float64(from[n])*f.step, textWidth(f.Bins[from[n]].Label)
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
