package querycmd

import (
	"fmt"
	"os"
	"syscall"
)

// safeHeadroom is the address space that a statement's process may take on top
// of its memory: stacks of threads, Go's own heap, what allocators keep back.
const safeHeadroom = 768 << 20

// limitMemory lets this process take so many bytes of address space more than
// it has, and leaves no core when it dies of that.
func limitMemory(more int64) error {
	var pages int64
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		return err
	}
	limit := uint64(pages*int64(os.Getpagesize()) + more)
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
