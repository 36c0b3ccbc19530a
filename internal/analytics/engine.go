package analytics

import "callhouse/internal/analytics/duck"

// EngineVersion returns the version of the DuckDB that is linked in, as in
// "v1.5.5".
func EngineVersion() string { return duck.Version() }
