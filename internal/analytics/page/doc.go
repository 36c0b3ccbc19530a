// Package page makes the morning page: one HTML document with the daily numbers and charts of the
// calls.
//
// All numbers come from named reports, read through [analytics.Warehouse]. For each number, the
// page has all digits (in data elements, whose text is for people) and the command that prints it.
// It computes only differences, sums of counts, and whether a difference exceeds chance.
//
// The document is self-contained: it needs no network, script or font. The package draws with
// package chart, contains no SQL and touches no files.
package page
