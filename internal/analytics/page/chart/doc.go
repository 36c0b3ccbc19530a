// Package chart draws SVG: bars, stacked bars and lines over shared bins, heat maps, and flows
// between nodes. It knows nothing about calls.
//
// Drawings have no colours: marks have classes (c1 to c6 for series, h0 to h5 for steps of a heat
// map), which the page's style sheet defines for light, dark and paper. Text widths are estimated
// from the widest letters, because they cannot be measured.
package chart
