//go:build !linux

package disk

// roomUnder returns what a file system has left.
func roomUnder(string) room { return room{} }
