//go:build cgo

package zstd

import (
	"sync"

	"github.com/DataDog/zstd"
)

var library codec = &native{}

// native is the C library. Its contexts are reused: they hold megabytes of C memory. A sync.Pool
// would free them at every garbage collection, and libc keeps freed memory for the thread that
// freed it.
type native struct {
	mu       sync.Mutex
	contexts []zstd.Ctx
}

// take returns a context for exclusive use until it is put back.
func (n *native) take() zstd.Ctx {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := len(n.contexts) - 1
	if last < 0 {
		return zstd.NewCtx()
	}
	ctx := n.contexts[last]
	n.contexts = n.contexts[:last]
	return ctx
}

func (n *native) put(ctx zstd.Ctx) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.contexts = append(n.contexts, ctx)
}

func (n *native) compress(dst, src []byte, level int) ([]byte, error) {
	ctx := n.take()
	defer n.put(ctx)
	return ctx.CompressLevel(dst, src, level)
}

func (n *native) decompressInto(dst, src []byte) (int, error) {
	ctx := n.take()
	defer n.put(ctx)
	return ctx.DecompressInto(dst, src)
}
