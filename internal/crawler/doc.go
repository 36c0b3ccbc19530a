// Package crawler decides what to ask the service for, and when.
//
// It lists calls page by page, newest first, until it has gone over the sweep
// window and over every span of time that was never listed to its end; then it
// fetches the details that are due. What it learns it hands to a [Store], record
// by record; which calls are due, and what was listed before, it asks the Store.
//
// Package api sends its requests, within the budget, and says what follows when
// one fails.
//
// The package writes no file, prints nothing, and keeps no state beyond a run:
// it knows neither the warehouse nor the commands. docs/design/crawler.md has the rules
// of paging in words.
package crawler
