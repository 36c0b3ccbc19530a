// Package scan walks over JSON text, strictly and without copying it, and writes JSON text. It
// handles text only, not its meaning.
package scan
