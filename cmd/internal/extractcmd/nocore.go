//go:build unix

package extractcmd

import "syscall"

// noCore prevents core files, since the memory of this process holds the API key:
// no core is written in a crash, nor given to a service that collects them. What Go
// prints of a panic contains no texts.
func noCore() {
	// Neither can fail in a way that matters more than the run.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	undumpable()
}
