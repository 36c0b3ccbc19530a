//go:build !linux

package safe

const safeHeadroom = 0

// limit does nothing, since this system has no reliable limit of address space.
// DuckDB's own limits, the time limit and the separate process remain.
func limit(_, _ int64) error { return nil }

// LimitSpace does nothing.
func LimitSpace(int64) error { return nil }
