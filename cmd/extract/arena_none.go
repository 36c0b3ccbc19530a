//go:build !cgo

package main

// oneArena has nothing to do without a C library.
func oneArena() {}
