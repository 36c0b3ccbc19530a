package process

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// headroom is the address space that a statement's process may use beyond its memory: for thread
// stacks, Go's heap and the reserves of allocators.
const headroom = 768 << 20

// Limit limits this process to memory bytes in addition to its current memory, and to files of at
// most file bytes. It also disables core files.
func Limit(memory, file int64) error {
	if err := LimitSpace(memory + headroom); err != nil {
		return err
	}
	if err := limitData(memory + dataHeadroom); err != nil {
		return err
	}
	// By default Go's heap doubles before a collection, which would use up DuckDB's memory.
	var held runtime.MemStats
	runtime.ReadMemStats(&held)
	debug.SetMemoryLimit(int64(held.Sys-held.HeapReleased) + dataHeadroom)
	signal.Ignore(syscall.SIGXFSZ) // so that a write beyond the limit returns an error
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(file), Max: uint64(file)}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}

// dataHeadroom is the part of it for thread stacks and Go's heap.
const dataHeadroom = 32 << 20

// limitData limits the writable memory of this process to its current size plus more bytes. Unlike
// address space, most of it is used, so this bounds the process's memory.
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

// LimitSpace limits the address space of this process to its current size plus more bytes. DuckDB
// then gets an error for allocations beyond its own limit.
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
