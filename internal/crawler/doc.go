// Package crawler decides what to request from the service, and when.
//
// It lists calls page by page, newest first, until it has covered the sweep window and every span
// of time not yet listed completely. Then it fetches the due details; transcripts may come from pages
// of v2 (bulk.go). Optional work, with an allowance of failures and time (streams.go), are the other
// resources, relisting and recordings. It passes each record to a
// [Store], which also supplies the due calls and the spans listed before.
//
// Package api sends the requests, within the budget, and decides what follows from a failure.
//
// The package writes no file, prints nothing, and keeps no state beyond a run. It does not depend
// on the warehouse or the commands. docs/design/crawler.md describes the rules of paging.
package crawler
