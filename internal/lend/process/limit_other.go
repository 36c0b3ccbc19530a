//go:build !linux

package process

// Limit does nothing, since this system has no reliable limit of address space. DuckDB's own
// limits, the time limit and the separate process still apply.
func Limit(_, _ int64) error { return nil }

// LimitSpace does nothing.
func LimitSpace(int64) error { return nil }
