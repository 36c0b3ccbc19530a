package disk

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestShortage(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, c := range []struct {
		name string
		err  error
		left room
		want Shortage
		says string
	}{
		{"a full disk", syscall.ENOSPC, room{known: true, hasInodes: true, bytes: 4096, inodes: 90_000}, NoBytes, "no space left under /w (a commit now needs about 10 MB)"},
		{"no inodes", syscall.ENOSPC, room{known: true, hasInodes: true, bytes: 9000 * mb}, NoInodes, "no inodes left under /w"},
		{"no inodes, and hardly a byte", syscall.ENOSPC, room{known: true, hasInodes: true, bytes: 1}, NoInodes, "no inodes"},
		{"some inodes were given back", syscall.ENOSPC, room{known: true, hasInodes: true, bytes: 9000 * mb, inodes: 7}, NoInodes, "no inodes"},
		{"few inodes on a full disk", syscall.ENOSPC, room{known: true, hasInodes: true, bytes: 3 * mb, inodes: 7}, NoBytes, "no space"},
		{"a file system without a count of inodes", syscall.ENOSPC, room{known: true, bytes: 9000 * mb}, NoBytes, "no space"},
		{"nothing is known", syscall.ENOSPC, room{}, NoBytes, "no space"},
		{"a quota", syscall.EDQUOT, room{known: true, hasInodes: true, bytes: 9000 * mb, inodes: 90_000}, NoQuota, "quota"},
		{"a file limit", syscall.EFBIG, room{known: true, hasInodes: true}, NoFileSize, "limit on the size of files"},
	} {
		err := fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "/w/x", Err: c.err})
		if !IsNoSpace(err) {
			t.Errorf("%s is no lack of space", c.name)
		}
		e := &NoSpaceError{Root: "/w", Wants: 9 * mb, Of: shortageOf(err, c.left, 9*mb), Err: err}
		if e.Of != c.want || !strings.Contains(e.Error(), c.says) || e.Hint() == "" {
			t.Errorf("%s: %d, want %d: %v (%s)", c.name, e.Of, c.want, e, e.Hint())
		}
	}
	if e := NoSpace(t.TempDir(), 0, syscall.ENOSPC); e.Of != NoBytes {
		t.Errorf("a folder with room enough: %v", e)
	}
}
