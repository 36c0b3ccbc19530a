// Package wire turns the JSON that the service sends into objects of rows, and back.
//
// What a resource's columns say of their places in the JSON is compiled once (node.go).
// By that a [Decoder] reads the JSON of an object, [AppendJSON] gives it back, [Merge]
// folds two responses into one, and [Redact] keeps out what must not be stored. What no
// column can hold goes to the column extra, so nothing that the service sent is lost. It
// is counted as [Drift], and never stops a run.
//
// It knows what is declared, and nothing that is particular to calls. It does no input or
// output, and reads no clock.
package wire
