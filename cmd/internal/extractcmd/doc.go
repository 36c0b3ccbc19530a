// Package extractcmd is the command extract: it reads the settings, joins the
// crawler with the warehouse, and tells how a run goes and what became of it.
//
// It decides nothing about what to fetch (internal/crawler) or how to keep it
// (internal/sink).
package extractcmd
