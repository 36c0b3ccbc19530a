package safe

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// safeHeadroom is the address space that a statement's process may take on top
// of its memory: stacks of threads, Go's own heap, what allocators keep back.
const safeHeadroom = 768 << 20

// limit lets this process take so many bytes of address space more than it has,
// and write files up to a size, and leaves no core when it dies of that.
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
