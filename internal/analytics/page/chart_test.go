package page

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callhouse/internal/test"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale scale
		top   float64
		n     int
		want  []string
	}{
		{counts, 0, 4, []string{"0", "1"}}, {counts, math.NaN(), 4, []string{"0", "1"}}, {counts, math.Inf(1), 4, []string{"0", "1"}},
		{counts, 1, 4, []string{"0", "1"}}, {counts, 3, 4, []string{"0", "1", "2", "3"}}, {counts, 4, 4, []string{"0", "1", "2", "3", "4"}},
		{counts, 7, 4, []string{"0", "2", "4", "6", "8"}}, {counts, 509, 4, []string{"0", "200", "400", "600"}},
		{counts, 1_000, 4, []string{"0", "500", "1,000"}}, {counts, 1_900, 4, []string{"0", "500", "1,000", "1,500", "2,000"}},
		{counts, 61_000, 4, []string{"0", "20,000", "40,000", "60,000", "80,000"}},
		{counts, 3_100_000, 4, []string{"0", "1,000,000", "2,000,000", "3,000,000", "4,000,000"}},
		{percents, 100, 4, []string{"0%", "25%", "50%", "75%", "100%"}}, {percents, 100, 3, []string{"0%", "50%", "100%"}},
		{percents, 0, 4, []string{"0%", "25%", "50%", "75%", "100%"}}, {percents, 3, 3, []string{"0%", "1%", "2%", "3%"}},
		{amounts, .3, 3, []string{"0", "0.1", "0.2", "0.3"}}, {amounts, .0123, 4, []string{"0", "0.005", "0.010", "0.015"}},
		{amounts, 130, 4, []string{"0", "50", "100", "150"}},
	} {
		at := c.scale.ticks(c.top, c.n)
		var got []string
		for _, v := range at {
			got = append(got, c.scale.label(v, at[1]-at[0]))
		}
		test.Same(t, c.want, got, "Ticks(%v, %v, %d) (-want +got)", c.scale, c.top, c.n)
	}
}

// An axis of shares that need not begin at 0 contains all values, stays between 0 and 100, and does
// not exaggerate small variations.
func TestTicksBetween(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{61, 64, []float64{55, 60, 65, 70}}, {61, 61, []float64{55, 60, 65, 70}}, {0, 1, []float64{0, 2, 4, 6}}, {99, 100, []float64{90, 95, 100}},
		{3, 97, []float64{0, 25, 50, 75, 100}}, {0, 100, []float64{0, 25, 50, 75, 100}},
	} {
		test.Same(t, c.want, percents.between(c.low, c.high, 4), "%v to %v (-want +got)", c.low, c.high)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 2_000 {
		low, high, n := 100*r.Float64(), 100*r.Float64(), 2+r.IntN(3)
		low, high = min(low, high), max(low, high)
		at := percents.between(low, high, n)
		if first, last := at[0], at[len(at)-1]; first < 0 || first > low+1e-6 || last < high-1e-6 || last > 100+1e-6 || last-first < 5 || len(at) > n+3 {
			t.Fatalf("%v to %v in %d: %v", low, high, n, at)
		}
	}
}

// Whatever the maximum, ticks begin at 0, are equally spaced, reach the maximum and are few.
func TestTicksReachTheTop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		scale, n := scale(r.IntN(3)), 2+r.IntN(6)
		top := math.Exp(r.Float64()*30 - 8)
		at := scale.ticks(top, n)
		last := at[len(at)-1]
		if at[0] != 0 || last < top*(1-1e-6) || len(at) > n+1+1 || len(at) < 2 {
			t.Fatalf("scale %v, top %v, %d ticks: %v", scale, top, n, at)
		}
		if len(at) > 2 && at[len(at)-2] >= top {
			t.Fatalf("scale %v, top %v: %v has a tick too many", scale, top, at)
		}
		labels := map[string]bool{}
		for _, v := range at {
			labels[scale.label(v, at[1])] = true
		}
		if len(labels) != len(at) {
			t.Fatalf("scale %v, top %v: two of the ticks %v have one label", scale, top, at)
		}
	}
}

var nan = math.NaN()

// fixed is a chart with every feature: gaps, a lone point, a partial bin, names to escape.
func fixed() *chart {
	c := &chart{id: "x", title: `Volume & "rate"`, desc: "What <it> tells.", noData: "no data", panels: []panel{
		{title: "Calls", bars: true, scale: counts, height: 100, values: []float64{3, 0, nan, 120, 80}},
		{title: "Rate", scale: percents, height: 60, values: []float64{75, nan, 50, 60, 61}},
		{title: "Nothing", scale: amounts, height: 40, values: []float64{nan, nan, nan, nan, nan}},
	}}
	for i, day := range []string{"29", "30", "31", "01", "02"} {
		group := "2026-10"
		if i > 2 {
			group = "2026-11"
		}
		c.bins = append(c.bins, bin{label: day, group: group, part: i == 4, hover: fmt.Sprintf("day %s\ncalls: <%d>", day, i)})
	}
	return c
}

func TestChartGolden(t *testing.T) {
	test.Golden(t, "testdata/wide.svg", fixed().svg("xl", 520, true)+"\n")
	test.Golden(t, "testdata/narrow.svg", fixed().svg("sm", 334, false)+"\n")
}

// box is the place of a text, as estimated by the package.
type box struct {
	left, right, y float64
	text           string
}

// texts returns the texts of a drawing, which must be well-formed.
func textsOf(t *testing.T, svg string) (out []box, width, height float64) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	attr := func(e xml.StartElement, name string) string {
		i := slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
		if i < 0 {
			return ""
		}
		return e.Attr[i].Value
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%q is no number in %s", s, svg)
		}
		return v
	}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, width, height
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		for _, name := range []string{"x", "y", "width", "height", "x1", "y1", "cx", "cy"} {
			if s := attr(e, name); s != "" {
				number(s)
			}
		}
		if e.Name.Local == "svg" {
			width, height = number(attr(e, "width")), number(attr(e, "height"))
		}
		if e.Name.Local != "text" {
			continue
		}
		next, err := d.Token()
		test.OK(t, err)
		s, _ := next.(xml.CharData)
		b := box{left: number(attr(e, "x")), y: number(attr(e, "y")), text: string(s)}
		w := textWidth(b.text)
		if attr(e, "class") == "pt" {
			w *= 12 / fontSize
		}
		switch attr(e, "text-anchor") {
		case "middle":
			b.left -= w / 2
		case "end":
			b.left -= w
		}
		b.right = b.left + w
		out = append(out, b)
	}
}

// apart fails if texts of a drawing overlap, or leave it by more than out.
func apart(t *testing.T, svg string, out float64) {
	t.Helper()
	all, w, h := textsOf(t, svg)
	for i, a := range all {
		if a.left < -out || a.right > w+out || a.y < 8 || a.y > h {
			t.Fatalf("%q is outside: %.0f to %.0f at %.0f of %.0f × %.0f\n%s", a.text, a.left, a.right, a.y, w, h, svg)
		}
		for _, b := range all[:i] {
			if a.text != "no data" && b.text != "no data" && a.left < b.right-.6 && b.left < a.right-.6 && math.Abs(a.y-b.y) < fontSize-1 {
				t.Fatalf("%q covers %q\n%s", a.text, b.text, svg)
			}
		}
	}
}

// In every drawing, texts neither overlap nor leave the drawing, and every coordinate is a number.
func TestTextsDoNotOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 80 {
		n := []int{0, 1, 2, 7, 30, 92, 110, 366}[r.IntN(8)]
		c := &chart{id: "x", title: "t", desc: "d", noData: "no data"}
		for i := range n {
			c.bins = append(c.bins, bin{label: fmt.Sprintf("%02d", i%28+1), group: fmt.Sprintf("2026-%02d", i/28+1), tick: n > 14 && i%7 == 0, part: i == n-1})
		}
		for range 1 + r.IntN(3) {
			p := panel{title: "Panel", bars: r.IntN(2) == 0, scale: scale(r.IntN(3)), height: 60 + float64(r.IntN(140)), values: make([]float64, n)}
			for i := range p.values {
				p.values[i] = math.Exp(r.Float64() * 12)
				if p.scale == percents {
					p.values[i] = 100 * r.Float64()
				}
				if r.IntN(5) == 0 {
					p.values[i] = []float64{0, nan}[r.IntN(2)]
				}
			}
			c.panels = append(c.panels, p)
		}
		for _, width := range []float64{334, 520, 1096} {
			svg := c.svg("x", width, true)
			apart(t, svg, 8) // half of the first and last label below an axis may stick out
		}
	}
}

// From the last day of a month or year on, or up to a first day, the axis names the month or year of
// most bins, and no name stands where another group begins.
func TestAxisNamesTheMonth(t *testing.T) {
	for _, c := range []struct {
		bins []int // of each group
		want []string
	}{
		{[]int{1, 28}, []string{"2026-11"}}, {[]int{2, 26}, []string{"2026-11"}}, {[]int{27, 1}, []string{"2026-10", "2026-11"}},
		{[]int{1, 30, 1}, []string{"2026-11", "2026-12"}}, {[]int{14, 14}, []string{"2026-10", "2026-11"}}, {[]int{1}, []string{"2026-10"}},
	} {
		x := &chart{id: "x", title: "t", desc: "d", noData: "no data", panels: []panel{{title: "Panel", height: 60}}}
		for g, n := range c.bins {
			for range n {
				x.bins = append(x.bins, bin{label: "01", group: fmt.Sprintf("2026-%d", 10+g)})
			}
		}
		for _, width := range []float64{334, 1096} {
			all, _, _ := textsOf(t, x.svg("x", width, true))
			var got []string
			for _, b := range all {
				if strings.HasPrefix(b.text, "2026-") {
					got = append(got, b.text)
				}
			}
			if !slices.Equal(got, c.want) && (width < 1000 || len(got) < len(c.want)) {
				t.Errorf("%v bins, %v wide: %q, want %q", c.bins, width, got, c.want)
			}
		}
	}
}
