// Package calls has what is particular to a call among all that is kept: where it is in
// its life ([Call.Settle]), what becomes of it when a later response says something else
// ([Merge]), when its record is worth a request ([Call.DetailDue]), and how many calls of
// a kind there are ([Tallies]).
//
// It reads no clock, and knows neither the network nor the disk.
package calls
