// Package scan walks through JSON text, strictly and without copying it, and writes JSON text. It
// handles only text, not its meaning.
package scan
