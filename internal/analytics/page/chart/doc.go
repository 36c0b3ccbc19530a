// Package chart draws charts as SVG: bars, stacked bars and lines over shared
// bins, heat maps, and moves between nodes. It knows numbers and names, nothing of calls.
//
// What it draws has no colours of its own: every mark carries a class (c1 to c6
// for series, h0 to h5 for steps of a heat map), and the page's style sheet says
// what they look like in light, in dark and on paper. Widths of texts are
// estimated, since there is nothing to measure them with: a label has the room
// that its widest letters would take.
package chart
