// Package chart draws SVG: bars and lines over shared bins, and flows between columns of nodes. It
// knows nothing about calls.
//
// Drawings have no colours: marks have classes, which the page's style sheet defines for light, dark
// and paper. Text widths are estimated from the widest letters, because they cannot be measured.
package chart
