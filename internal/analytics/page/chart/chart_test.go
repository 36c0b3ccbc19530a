package chart

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

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/test"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale Scale
		top   float64
		n     int
		want  []string
	}{
		{Count, 0, 4, []string{"0", "1"}},
		{Count, math.NaN(), 4, []string{"0", "1"}},
		{Count, math.Inf(1), 4, []string{"0", "1"}},
		{Count, 1, 4, []string{"0", "1"}},
		{Count, 3, 4, []string{"0", "1", "2", "3"}},
		{Count, 4, 4, []string{"0", "1", "2", "3", "4"}},
		{Count, 7, 4, []string{"0", "2", "4", "6", "8"}},
		{Count, 509, 4, []string{"0", "200", "400", "600"}},
		{Count, 1_000, 4, []string{"0", "500", "1,000"}},
		{Count, 1_900, 4, []string{"0", "500", "1,000", "1,500", "2,000"}},
		{Count, 61_000, 4, []string{"0", "20k", "40k", "60k", "80k"}},
		{Count, 3_100_000, 4, []string{"0", "1M", "2M", "3M", "4M"}},
		{Percent, 100, 4, []string{"0%", "25%", "50%", "75%", "100%"}},
		{Percent, 100, 3, []string{"0%", "50%", "100%"}},
		{Percent, 0, 4, []string{"0%", "25%", "50%", "75%", "100%"}},
		{Percent, 3, 3, []string{"0%", "1%", "2%", "3%"}},
		{Millis, 0, 4, []string{"0", "500ms", "1s"}},
		{Millis, 2_600, 4, []string{"0", "1s", "2s", "3s"}},
		{Millis, 900, 4, []string{"0", "500ms", "1s"}},
		{Millis, 75_000, 4, []string{"0", "30s", "1m", "1m 30s"}},
		{Millis, 500_000, 4, []string{"0", "5m", "10m"}},
		{Millis, 5_000_000, 4, []string{"0", "30m", "60m", "90m"}},
		{Millis, 9_000_000, 4, []string{"0", "1h", "2h", "3h"}},
		{Millis, 36_000_000, 4, []string{"0", "5h", "10h"}},
		{Money, .3, 3, []string{"0", "0.1", "0.2", "0.3"}},
		{Money, .0123, 4, []string{"0", "0.005", "0.010", "0.015"}},
		{Money, 130, 4, []string{"0", "50", "100", "150"}},
	} {
		at := c.scale.Ticks(c.top, c.n)
		var got []string
		for _, v := range at {
			got = append(got, c.scale.Label(v, at[1]-at[0]))
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
		test.Same(t, c.want, Percent.Between(c.low, c.high, 4), "%v to %v (-want +got)", c.low, c.high)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 2_000 {
		low, high, n := 100*r.Float64(), 100*r.Float64(), 2+r.IntN(3)
		low, high = min(low, high), max(low, high)
		at := Percent.Between(low, high, n)
		if first, last := at[0], at[len(at)-1]; first < 0 || first > low+1e-6 || last < high-1e-6 || last > 100+1e-6 || last-first < 5 || len(at) > n+3 {
			t.Fatalf("%v to %v in %d: %v", low, high, n, at)
		}
	}
}

// Whatever the maximum, ticks begin at 0, are equally spaced, reach the maximum and are few.
func TestTicksReachTheTop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		scale, n := Scale(r.IntN(4)), 2+r.IntN(6)
		top := math.Exp(r.Float64()*30 - 8)
		at := scale.Ticks(top, n)
		last := at[len(at)-1]
		if at[0] != 0 || last < top*(1-1e-6) || len(at) > n+1+1 || len(at) < 2 {
			t.Fatalf("scale %v, top %v, %d ticks: %v", scale, top, n, at)
		}
		if len(at) > 2 && at[len(at)-2] >= top {
			t.Fatalf("scale %v, top %v: %v has a tick too many", scale, top, at)
		}
		labels := map[string]bool{}
		for _, v := range at {
			labels[scale.Label(v, at[1])] = true
		}
		if len(labels) != len(at) {
			t.Fatalf("scale %v, top %v: two of the ticks %v have one label", scale, top, at)
		}
	}
}

var nan = math.NaN()

// fixed is a chart with every feature: gaps, a lone point, a partial bin, names to escape, names
// too close to each other.
func fixed() *Chart {
	c := &Chart{ID: "x", Title: `Volume & "rate"`, Desc: "What <it> tells.", NoData: "no data", Panels: []Panel{
		{Title: "Calls", Kind: Bars, Scale: Count, Height: 100, Series: []Series{
			{Name: "up", Color: 1, Values: []float64{3, 0, nan, 120, 80}}, {Name: "<down>", Color: 4, Values: []float64{1, 0, nan, 20, 8}}}},
		{Title: "Rate", Kind: Lines, Scale: Percent, Top: 100, Height: 60, Series: []Series{
			{Name: "one", Color: 1, Values: []float64{75, nan, 50, 60, 61}}, {Name: "another", Color: 2, Values: []float64{nan, nan, 52, 58, 60}}}},
		{Title: "Nothing", Kind: Lines, Scale: Millis, Height: 40, Series: []Series{{Name: "none", Color: 1, Values: []float64{nan, nan, nan, nan, nan}}}},
	}}
	for i, day := range []string{"29", "30", "31", "01", "02"} {
		group := "2026-10"
		if i > 2 {
			group = "2026-11"
		}
		c.Bins = append(c.Bins, Bin{Label: day, Group: group, Part: i == 4, Hover: fmt.Sprintf("day %s\ncalls: <%d>", day, i)})
	}
	return c
}

// loops are moves of every kind: back, to the same node, skipping a node, ending anywhere, and
// through more nodes than fit in a narrow drawing.
func loops() *Sankey {
	return &Sankey{ID: "f", Title: "Paths & ends", Desc: "d",
		Nodes:  []string{"(start)", "Greeting", `Ask <what> "for"`, "Book", "a node with a name that is far too long for it", "환불 접수"},
		Moves:  []Move{{0, 1, 100}, {1, 2, 70}, {2, 1, 15}, {2, 2, 4}, {1, 3, 20}, {2, 3, 30}, {3, 4, 12}, {4, 5, 6}, {2, 5, 3}, {5, 2, 2}, {1, -1, 25}, {2, -1, 25}, {3, -1, 38}, {4, -1, 6}, {5, -1, 7}},
		Others: func(n int) string { return fmt.Sprint(n, " others") },
		Hover:  func(m Move, from, to string) string { return fmt.Sprint(from, " > ", to, ": ", m.N) }}
}

func TestChartGolden(t *testing.T) {
	test.Golden(t, "testdata/wide.svg", fixed().SVG("md", 520, true)+"\n")
	test.Golden(t, "testdata/narrow.svg", fixed().SVG("sm", 334, false)+"\n")
	steps := &Chart{ID: "s", Title: "Durations", Desc: "d", Edges: true, Panels: []Panel{{Title: "Calls", Kind: Bars, Scale: Count, Height: 80,
		Series: []Series{{Name: "calls", Color: 1, Values: []float64{5, 9, 2, 0, 1}}}}}}
	for i := range 5 {
		steps.Bins = append(steps.Bins, Bin{Label: Millis.Label(float64(i)*30e3, 30e3), Tick: i%2 == 0})
	}
	test.Golden(t, "testdata/steps.svg", steps.SVG("md", 300, false)+"\n")
	test.Golden(t, "testdata/sankey.svg", loops().SVG("md", 520, true)+"\n")
	test.Golden(t, "testdata/sankey-narrow.svg", loops().SVG("sm", 334, false)+"\n")
	heat := &Heat{ID: "h", Title: "When", Desc: "d", Every: 2, Down: []string{"Mon", "Tue"}, Across: []string{"00", "01", "02", "03"},
		Values: [][]float64{{0, 1, 5, 12}, {nan, 3, 9, 1_200}}}
	test.Golden(t, "testdata/heat.svg", heat.SVG("md", 300, true)+"\n")
}

// box is the place of a text, as estimated by the package.
type box struct {
	left, right, y float64
	text           string
}

// texts returns the texts of a drawing, which must be well-formed.
func texts(t *testing.T, svg string) (out []box, width, height float64) {
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

// In every drawing, texts neither overlap nor leave the drawing, and every coordinate is a number.
func TestTextsKeepApart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	names := []string{"positive", "neutral", "negative", "a sentiment that nobody has heard of", "기쁨", "others"}
	for range 80 {
		n := []int{0, 1, 2, 7, 30, 92, 110, 366}[r.IntN(8)]
		c := &Chart{ID: "x", Title: "t", Desc: "d", NoData: "no data", Edges: r.IntN(4) == 0}
		for i := range n {
			c.Bins = append(c.Bins, Bin{Label: fmt.Sprintf("%02d", i%28+1), Group: fmt.Sprintf("2026-%02d", i/28+1), Tick: n > 14 && i%7 == 0, Part: i == n-1})
		}
		for range 1 + r.IntN(3) {
			p := Panel{Title: "Panel", Kind: Kind(r.IntN(2)), Scale: Scale(r.IntN(4)), Height: 60 + float64(r.IntN(140))}
			p.Zoom = p.Kind == Lines && p.Scale == Percent
			for s := range 1 + r.IntN(len(names)) {
				values := make([]float64, n)
				for i := range values {
					values[i] = math.Exp(r.Float64() * 12)
					if p.Zoom {
						values[i] = 100 * r.Float64()
					}
					if r.IntN(5) == 0 {
						values[i] = []float64{0, nan}[r.IntN(2)]
					}
				}
				if float64(s+1)*lineRoom < p.Height {
					p.Series = append(p.Series, Series{Name: names[s], Color: s + 1, Values: values})
				}
			}
			c.Panels = append(c.Panels, p)
		}
		for _, width := range []float64{334, 520, 1096} {
			svg := c.SVG("x", width, true)
			all, w, h := texts(t, svg)
			for i, a := range all {
				// Half of the first and last label below an axis may stick out.
				if a.left < -8 || a.right > w+8 || a.y < 8 || a.y > h {
					t.Fatalf("%q is outside: %.0f to %.0f at %.0f of %.0f × %.0f\n%s", a.text, a.left, a.right, a.y, w, h, svg)
				}
				for _, b := range all[:i] {
					if a.text != "no data" && b.text != "no data" && a.left < b.right-.6 && b.left < a.right-.6 && math.Abs(a.y-b.y) < fontSize-1 {
						t.Fatalf("%q covers %q at %v wide\n%s", a.text, b.text, width, svg)
					}
				}
			}
		}
	}
}

// Whatever the moves, names neither overlap nor leave the drawing, and the same moves are always
// drawn alike.
func TestMovesKeepApart(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		s := loops()
		for len(s.Nodes) < 1+r.IntN(30) {
			s.Nodes = append(s.Nodes, "a node that has a name")
		}
		for range r.IntN(80) {
			s.Moves = append(s.Moves, Move{r.IntN(len(s.Nodes)), r.IntN(len(s.Nodes)+1) - 1, math.Floor(math.Exp(r.Float64() * 9))})
		}
		for _, width := range []float64{334, 520, 1096} {
			svg := s.SVG("x", width, true)
			all, w, h := texts(t, svg)
			for i, a := range all {
				if a.left < 0 || a.right > w+1 || a.y < 8 || a.y > h {
					t.Fatalf("%q is outside: %.0f to %.0f at %.0f of %.0f × %.0f\n%s", a.text, a.left, a.right, a.y, w, h, svg)
				}
				for _, b := range all[:i] {
					if a.left < b.right-.6 && b.left < a.right-.6 && math.Abs(a.y-b.y) < fontSize-1 {
						t.Fatalf("%q covers %q at %v wide\n%s", a.text, b.text, width, svg)
					}
				}
			}
			if again := s.SVG("x", width, true); again != svg {
				t.Fatalf("it is drawn in two ways:\n%s\n%s", svg, again)
			}
		}
	}
}

// Of the moves in a circle, the rarest ones are not drawn.
func TestMovesBackAreNotDrawn(t *testing.T) {
	_, moves := loops().folded(9)
	drawn, cols := forward(6, moves)
	for _, m := range []Move{{2, 1, 15}, {5, 2, 2}} {
		if slices.Contains(drawn, m) || !slices.Contains(moves, m) {
			t.Errorf("%v is drawn: %v", m, drawn)
		}
	}
	if len(drawn) != 7 || !slices.Equal(cols, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("drawn %v in columns %v", drawn, cols)
	}
	names, moves := loops().folded(3)
	sum := 0.0
	for _, m := range moves {
		sum += m.N
	}
	if d := cmp.Diff([]string{"(start)", "Greeting", `Ask <what> "for"`, "Book", "2 others"}, names); d != "" || sum != 100+70+15+20+30+12+3+2+25+25+38+13 {
		t.Errorf("%v, %v moves %s", moves, sum, d)
	}
}

func TestHeatSteps(t *testing.T) {
	for _, c := range []struct {
		most float64
		want []float64
	}{{0, nil}, {1, []float64{1}}, {2, []float64{1, 2}}, {3, []float64{1, 2, 3}}, {7, []float64{2, 3, 5, 6, 7}}, {222, []float64{45, 89, 134, 178, 222}}} {
		h := &Heat{Values: [][]float64{{0, c.most, nan}}}
		test.Same(t, c.want, h.bounds(), "bounds up to %v (-want +got)", c.most)
		if got := strength(c.most, h.bounds()); c.most > 0 && got != steps {
			t.Errorf("the most, %v, has strength %d, want %d", c.most, got, steps)
		}
	}
	if strength(0, []float64{1}) != 0 || strength(nan, []float64{1}) != 0 || strength(45, []float64{45, 89}) >= strength(46, []float64{45, 89}) {
		t.Error("strengths do not grow from nothing")
	}
}

// Missing numbers leave a gap in the line, and a lone number is a point.
func TestGaps(t *testing.T) {
	c := &Chart{ID: "x", Title: "t", Desc: "d", Bins: make([]Bin, 7), Panels: []Panel{{Kind: Lines, Height: 50,
		Series: []Series{{Name: "a", Color: 1, Values: []float64{1, 2, nan, 3, nan, 4, 5}}}}}}
	svg := c.SVG("x", 300, false)
	if paths, dots := strings.Count(svg, "<path"), strings.Count(svg, "<circle"); paths != 2 || dots != 1 {
		t.Errorf("%d lines and %d points, want 2 and 1", paths, dots)
	}
}
