package zstd

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBothLibraries compresses with each library and decompresses with both. Without cgo they are
// one and the same.
func TestBothLibraries(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	speech := strings.Repeat(`{"role":"agent","content":"How can I help you today?"},`, 20_000)
	libraries := map[string]codec{"the default": library, "Go": &pure{}}
	for what, src := range map[string][]byte{
		"a byte": {7}, "noise": noise, "a block of noise": noise[:128<<10], "speech": []byte(speech),
		"both": append(noise[:200_000:200_000], speech...),
	} {
		for _, level := range []int{journalLevel, pageLevel} {
			for by, c := range libraries {
				room := make([]byte, Bound(len(src)))
				packed, err := c.compress(room, src, level)
				if err != nil {
					t.Fatalf("%s at level %d by %s: %v", what, level, by, err)
				}
				if len(packed) == 0 || &packed[0] != &room[0] {
					t.Errorf("%s at level %d by %s: not compressed into the given memory", what, level, by)
				}
				if fresh, err := c.compress(nil, src, level); err != nil || !bytes.Equal(fresh, packed) {
					t.Errorf("%s at level %d by %s: without memory it compresses differently: %v", what, level, by, err)
				}
				for with, d := range libraries {
					dst := make([]byte, len(src)+1)[:len(src)]
					if n, err := d.decompressInto(dst, packed); err != nil || n != len(src) || !bytes.Equal(dst, src) {
						t.Errorf("%s at level %d by %s: %s decompresses %d bytes of %d: %v", what, level, by, with, n, len(src), err)
					}
					if len(src) == 1 {
						continue // the C library needs some extra space
					}
					if _, err := d.decompressInto(make([]byte, len(src)-1, 2*len(src)), packed); err == nil {
						t.Errorf("%s: %s decompresses more than there is room for", what, with)
					}
					if _, err := d.decompressInto(dst, packed[:len(packed)-1]); err == nil {
						t.Errorf("%s: %s decompresses a torn frame", what, with)
					}
				}
			}
		}
	}
}

// journalLevel is the level of the journal.
const journalLevel = 1
