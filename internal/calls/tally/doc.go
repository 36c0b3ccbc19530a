// Package tally counts the calls of one file, with their tool calls and extracted values, for the
// tables of tallies that reports read in place of calls.
//
// It reads no clock, and uses neither the network nor the disk. Its rules for how a call ended are
// those of the view calls; tests compare the two.
package tally
