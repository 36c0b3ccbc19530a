// Package scan walks over JSON text, strictly and without copying it, and writes what
// is left of such text anew. It knows text, and not what it is about.
package scan
