// Package crawler decides what to ask the service for, and when.
//
// It lists calls page by page, newest first, until it has gone over the sweep
// window and over every span of time that was never listed to its end; then it
// fetches the details that are due. What it learns it hands to a [Store], record
// by record; which calls are due, and what was listed before, it asks the Store.
//
// Requests are the scarce resource. Every attempt, a retry or a page alike,
// passes one budget (budget.go), which never lets the service count one
// request too many, and every answer that is not a good one meets one table
// (failures.go), which says whether to ask again and what follows.
//
// The package writes no file, prints nothing, and keeps no state beyond a run:
// it knows neither the warehouse nor the commands. docs/crawler.md has the
// budget's proof, the table of failures and the rules of paging in words.
package crawler
