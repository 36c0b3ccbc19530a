//go:build !linux

package extractcmd

func undumpable() {}
