package disk

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestIsNoSpace(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: true, syscall.EIO: false} {
		if err = fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "/w/x", Err: err}); IsNoSpace(err) != want {
			t.Errorf("%v: no space: %v", err, !want)
		}
	}
}
