// Package api sends requests to the service, one at a time or many at once, whatever they request.
//
// Requests are the scarce resource. Every attempt, including retries, passes one budget
// (budget.go), which never lets the service count more requests than its limits. Every failure is
// looked up in one table (failures.go), which decides whether to retry and what follows.
//
// docs/design/crawler.md has the budget's proof and the table of failures.
package api
