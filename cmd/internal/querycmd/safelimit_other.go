//go:build !linux

package querycmd

const safeHeadroom = 0

// limitMemory does nothing: this system has no limit of address space that
// holds. What is left are DuckDB's own limit, the time, and the process.
func limitMemory(int64) error { return nil }
