package safe

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// safeHeadroom is the address space that a statement's process may take besides its
// memory: for stacks of threads, Go's heap, and what allocators hold back.
const safeHeadroom = 768 << 20

// limit lets this process take that many more bytes of address space, and write
// files up to a size. It writes no core if that kills it.
func limit(more, file int64) error {
	var pages int64
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // so that what writes too much gets an error
	space := uint64(pages*int64(os.Getpagesize()) + more)
	for resource, most := range map[int]uint64{syscall.RLIMIT_AS: space, syscall.RLIMIT_FSIZE: uint64(file)} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
