// Package wire converts the service's JSON into objects of rows.
//
// The columns' places in the JSON are compiled once per resource (node.go). With the result, a
// [Decoder] reads the JSON of an object, [Merge] folds two responses into one, [AppendJSON] prints
// an object, and [Redact] removes what must not be stored. A value that no column holds goes to the
// column extra (extra.go), so that no value is lost. It is counted as [Drift] and never stops
// a run.
//
// The package depends only on the declarations; nothing in it is specific to calls. It does no
// input or output, and reads no clock.
package wire
