//go:build !cgo

package main

// oneArena does nothing: without cgo there is no C library.
func oneArena() {}
