//go:build !linux

package extractcmd

import "syscall"

func noCore() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
