// Package calls has the rules that are particular to calls: their life cycle ([Call.Settle]), how a
// later response changes a call ([Merge]), when its record is worth a request ([Call.DetailDue]),
// and what follows from its transcript ([Call.Complete]).
//
// It reads no clock, and uses neither the network nor the disk.
package calls
