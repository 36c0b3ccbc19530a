// Package sandbox is the call service's stand-in: a whole organisation's calls,
// computed from a seed, behind the service's own HTTP interface, limits and
// faults.
//
// A [World] is the data. Call i is computed when it is asked for and never
// stored, so ten million calls cost no memory; the same [Config] and the same
// instant give the same bytes. The world lives with its clock: calls are queued,
// start, end, and get their analysis and cost later. [World.Truth] counts what
// the world shows at an instant, without any of the pipeline's code, for others
// to compare with.
//
// A [Server] is the HTTP side: GET /v3/calls and GET /v3/calls/{call_id} with
// key, rate limits, cursors, filters and faults on demand ([Options]), and apart
// from them /sandbox/truth, /sandbox/stats and /sandbox/clock.
//
// The package stands outside the pipeline: it imports none of its packages, and
// nothing but commands and tests may import it. It starts no goroutine of its
// own except in [Serve], and reads no clock but those it is given (time.Now by
// default), so it can run inside testing/synctest.
//
// Times inside the package are unix milliseconds, UTC, unless a name says
// otherwise; "the company's zone" is UTC+9, without daylight saving.
package sandbox
