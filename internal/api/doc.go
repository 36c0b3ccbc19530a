// Package api sends requests to the service, one at a time or many at once, and
// knows nothing of what they ask for.
//
// Requests are the scarce resource. Every attempt, also one that repeats another,
// passes one budget (budget.go), which never lets the service count one request
// too many. Every answer that is not a good one meets one table (failures.go),
// which says whether to ask again and what follows.
//
// docs/design/crawler.md has the budget's proof and the table of failures in words.
package api
