// Package sandbox is the call service's stand-in: a whole organisation's calls,
// computed from a seed, behind the service's own HTTP interface, limits and
// faults.
//
// The packages below it: operation declares what can be asked for and the fields of
// every object, script has what is said, world computes who calls when and what the
// service shows of it, render writes a call's JSON in v3 and v2, organisation computes
// everything but calls, service applies writes, statefile keeps them in a file, limit
// counts requests; dice draws numbers, and wire appends JSON.
//
// A [Server] is the HTTP side. It checks keys and rate limits, draws faults, sends and
// counts; api answers the operations by the table in handlers.go, with cursors and filters.
// What can be wrong on demand ([Options]) is listed in faults.go. Apart from the operations
// there are /sandbox/truth, /sandbox/stats and /sandbox/clock.
//
// Its files know each other in one direction: serve -> control, send -> server -> stats,
// handlers -> calls, resources, v2 -> api -> list -> query -> answer -> options -> faults.
//
// The package and its rooms stand outside the pipeline: they import none of its
// packages, and nothing but commands and tests may import them. They start no
// goroutine except in [Serve], and read no clock but those they are given
// (time.Now by default), so they can run inside testing/synctest.
package sandbox
