//go:build unix && !linux

package extractcmd

func undumpable() {}
