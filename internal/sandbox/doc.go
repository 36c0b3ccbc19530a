// Package sandbox is a stand-in for the call service: a whole organisation's calls, computed from a
// seed, with the service's HTTP interface, limits and faults.
//
// The packages below it: operation declares the operations, the fields of every object and the rules
// by which it is drawn, script holds the words, world computes the calls and the service's view of
// them, render writes a call's JSON in v3 and v2, recordings serves their audio, organisation
// computes everything but calls and applies writes, limit counts requests; dice draws numbers, and
// wire appends JSON.
//
// A [Server] is the HTTP side. It checks keys and rate limits, draws faults, and sends and counts
// answers; api answers the operations by the table in handlers.go, with cursors and filters.
// faults.go lists the faults available on demand ([Options]). Apart from the operations there are
// /sandbox/truth, /sandbox/stats and /sandbox/clock.
//
// Its files depend on each other in one direction: serve -> control, send -> server -> stats,
// handlers -> calls, resources, v2 -> api -> list -> query -> answer -> options -> faults.
//
// These packages are independent of the pipeline: they import none of its packages, and only
// commands and tests may import them. Only [Listen] and recordings.Serve start goroutines. They read
// only the clocks they are given (time.Now by default), so they can run inside testing/synctest.
package sandbox
