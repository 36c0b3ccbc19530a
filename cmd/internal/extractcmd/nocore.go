package extractcmd

import "syscall"

// noCore keeps the memory of this process, which holds the API key, out of files:
// it leaves no core behind when it crashes, also not to a service that collects
// them. What Go prints of a panic names no text.
func noCore() {
	// Neither can fail in a way that matters more than the run.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	undumpable()
}
