// Package page makes the morning page: one HTML document with the numbers and
// charts that somebody responsible for the calls looks at every day.
//
// All numbers come from named reports, read through [analytics.Warehouse], and
// stand in the page with every digit (in the elements data, whose text is for
// people) beside the command that prints the same. Nothing is computed here but
// differences, sums of counts, and whether a difference is more than chance.
//
// The document needs nothing else: no network, no script, no font. It draws with
// package chart, holds no SQL, and touches no files.
package page
