package page

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Text sizes in units of the drawing: pixels at its own width.
const (
	fontSize   = 11.0
	lineHeight = 13.0 // line height
)

// drawing collects elements. Coordinates are rounded to a tenth.
type drawing struct{ strings.Builder }

func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// begin opens the drawing. Screen readers read the title and description instead of the drawing.
func (d *drawing) begin(id, class, title, desc string, width, height float64) {
	// Presentation attributes take effect if the style sheet is removed, as mail programs do.
	fmt.Fprintf(d, `<svg class="%s" fill="#456" role="img" aria-labelledby="%s-t %s-d" `+
		`viewBox="0 0 %s %s" width="%s" height="%s" xmlns="http://www.w3.org/2000/svg">`+"\n",
		class, id, id, px(width), px(height), px(width), px(height))
	fmt.Fprintf(d, "<title id=\"%s-t\">%s</title><desc id=\"%s-d\">%s</desc>\n", id, html.EscapeString(title), id, html.EscapeString(desc))
}

func (d *drawing) end() string {
	d.WriteString("</svg>")
	if s := d.String(); strings.Contains(s, "<a href") { // an image must not contain links
		return strings.Replace(s, `role="img"`, `role="group"`, 1)
	}
	return d.String()
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, px(x), px(y), px(w), px(h))
}

// hit draws an area with a tooltip and a link; either may be empty. The table next to the drawing
// has the links for the keyboard.
func (d *drawing) hit(class string, x, y, w, h float64, tooltip, to string) {
	if to != "" {
		fmt.Fprintf(d, `<a href="%s" tabindex="-1" aria-hidden="true">`, html.EscapeString(to))
	}
	if class == "hit" {
		class += `" fill="none`
	}
	fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, class, px(x), px(y), px(w), px(h))
	if tooltip != "" {
		fmt.Fprintf(d, "><title>%s</title></rect>", html.EscapeString(tooltip))
	} else {
		d.WriteString("/>")
	}
	if to != "" {
		d.WriteString("</a>")
	}
	d.WriteByte('\n')
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (d *drawing) dot(class string, x, y, r float64) {
	fmt.Fprintf(d, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`+"\n", class, px(x), px(y), px(r))
}

// text writes s with its baseline at y; anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, s string) {
	at := ""
	if anchor != "start" {
		at = ` text-anchor="` + anchor + `"`
	}
	fmt.Fprintf(d, `<text class="%s" x="%s" y="%s"%s>%s</text>`+"\n", class, px(x), px(y), at, html.EscapeString(s))
}

// textWidth returns an upper estimate of the width of s.
func textWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case r > 0x2e80 || r >= 0x20a0 && r <= 0x20cf: // CJK characters are as wide as they are high, currency signs nearly so
			w += fontSize
		case strings.ContainsRune("iljtfr.,:;|!' ()-", r):
			w += fontSize * .4
		case strings.ContainsRune("mwMW%@", r):
			w += fontSize * .98
		default:
			w += fontSize * .62
		}
	}
	return w
}
