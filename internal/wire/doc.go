// Package wire converts the service's JSON into objects of rows, and back.
//
// The columns' places in the JSON are compiled once per resource (node.go). With the result, a
// [Decoder] reads the JSON of an object, [AppendJSON] reproduces it, [Merge] folds two responses
// into one, and [Redact] removes what must not be stored. A value without a column goes to the
// column extra, so nothing that the service sent is lost. It is counted as [Drift] and never stops
// a run.
//
// The package depends only on the declarations; nothing in it is specific to calls. It does no
// input or output, and reads no clock.
package wire
