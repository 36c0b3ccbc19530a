//go:build !linux

package safe

const safeHeadroom = 0

// limit does nothing: this system has no limit of address space that
// holds. What is left are DuckDB's own limits, the time, and the process.
func limit(_, _ int64) error { return nil }
