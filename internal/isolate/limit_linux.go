package isolate

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// Limit limits this process to memory bytes in addition to its current memory and to headroom, which
// is for thread stacks and Go's heap, and to files of at most file bytes. It also disables core
// files. DuckDB does not enforce its own limits everywhere; beyond these it gets an error, which it
// usually survives.
func Limit(memory, headroom, file int64) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // ends first when the machine runs out of memory
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages [6]int64 // size, resident, shared, text, library, data
	if _, err := fmt.Sscan(string(raw), &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]); err != nil {
		return err
	}
	data := uint64(pages[5]*int64(os.Getpagesize()) + memory + headroom)
	// By default Go's heap doubles before a collection, which would use up DuckDB's memory.
	var held runtime.MemStats
	runtime.ReadMemStats(&held)
	debug.SetMemoryLimit(int64(held.Sys-held.HeapReleased) + headroom)
	signal.Ignore(syscall.SIGXFSZ) // so that a write beyond the limit returns an error
	for _, l := range []struct {
		resource int
		max      uint64
	}{
		{syscall.RLIMIT_DATA, data}, {syscall.RLIMIT_FSIZE, uint64(file)}, {syscall.RLIMIT_CORE, 0},
	} {
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return err
		}
	}
	return nil
}
