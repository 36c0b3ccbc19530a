package process

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// headroom is the address space that a statement's process may take besides its
// memory: for stacks of threads, Go's heap, and what allocators hold back.
const headroom = 768 << 20

// Limit lets this process take that many more bytes of memory, and write files up to a size.
// It writes no core if that kills it.
func Limit(memory, file int64) error {
	if err := LimitSpace(memory + headroom); err != nil {
		return err
	}
	if err := limitData(memory + dataHeadroom); err != nil {
		return err
	}
	// By default Go's heap doubles before it collects, which would take what DuckDB needs.
	var held runtime.MemStats
	runtime.ReadMemStats(&held)
	debug.SetMemoryLimit(int64(held.Sys-held.HeapReleased) + dataHeadroom)
	signal.Ignore(syscall.SIGXFSZ) // so that what writes too much gets an error
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(file), Max: uint64(file)}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}

// dataHeadroom is what stacks of threads and Go's heap may take of it.
const dataHeadroom = 32 << 20

// limitData lets this process make that many more bytes writable: unlike address space, most of
// these are used, so that they bound what the process holds.
func limitData(more int64) error {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages [6]int64 // size, resident, shared, text, library, data
	if _, err := fmt.Sscan(string(raw), &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]); err != nil {
		return err
	}
	data := uint64(pages[5]*int64(os.Getpagesize()) + more)
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: data, Max: data})
}

// LimitSpace lets this process take that many more bytes of address space. DuckDB then has
// an error for what it would otherwise take beyond its own limit.
func LimitSpace(more int64) error {
	var pages int64
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		return err
	}
	space := uint64(pages*int64(os.Getpagesize()) + more)
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: space, Max: space})
}
