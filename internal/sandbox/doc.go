// Package sandbox is the call service's stand-in: a whole organisation's calls,
// computed from a seed, behind the service's own HTTP interface, limits and
// faults.
//
// The rooms below it: script is what is said, world who calls when and what the
// service shows of it, render a call's JSON in v3 and v2, organisation everything
// but calls, service what can be done to it, operation the table of what can be
// asked for, statefile the file that keeps what was done, limit the rate limits;
// dice and wire are the numbers that all draw from and the bytes that they write.
//
// A [Server] is the HTTP side: the operations of package operation, with key, rate
// limits, cursors, filters and faults on demand ([Options]), and apart from them
// /sandbox/truth, /sandbox/stats and /sandbox/clock.
//
// The package and its rooms stand outside the pipeline: they import none of its
// packages, and nothing but commands and tests may import them. They start no
// goroutine except in [Serve], and read no clock but those they are given
// (time.Now by default), so they can run inside testing/synctest.
package sandbox
