// Package schema knows one call: the JSON that the service sends for it, the
// typed rows that it becomes, and the way back.
//
// It declares every table and column of the warehouse (names, types, permanent
// field ids), decodes list items and details of the API's v3 and v2 shapes into
// a [Call], says where a call stands in its life ([Call.Settle]), merges what a later
// response tells into what is known, and rebuilds the call's JSON from its rows.
// Whatever no column can hold exactly goes to the column extra, so nothing that
// the service sent is lost; every such departure is counted as drift and never
// stops a run.
//
// The package does no input or output, reads no clock and knows neither the
// network nor the disk.
package schema
