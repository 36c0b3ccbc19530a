//go:build !linux

package isolate

// Limit does nothing, since this system has no reliable limit of memory. DuckDB's own limits, the
// time limit and the separate process still apply.
func Limit(_, _, _ int64) error { return nil }
