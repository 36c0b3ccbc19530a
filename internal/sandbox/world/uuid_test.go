package world

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callhouse/internal/test"
)

func TestIDsTurnBackIntoIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, err := New(Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Calls: rapid.Int64Range(0, 1e9).Draw(t, "calls"), Origin: busy,
		})
		test.OK(t, err)
		index := rapid.Int64Range(0, 1e12).Draw(t, "index")
		text := w.ID(index).String()
		if len(text) != 36 || text[14] != '4' || !strings.ContainsRune("89ab", rune(text[19])) {
			t.Fatalf("%s is no version 4 UUID", text)
		}
		u, ok := ParseUUID(text)
		if !ok || u != w.ID(index) {
			t.Fatalf("%s does not parse back", text)
		}
		if got, ok := w.IndexOf(u); !ok || got != index {
			t.Fatalf("call %d has id %s, which is call %d, %v", index, text, got, ok)
		}
		other := []byte(text)
		at := rapid.SampledFrom([]int{0, 1, 7, 9, 15, 20, 25, 35}).Draw(t, "at")
		other[at] = "0123456789abcdef"[(strings.IndexByte("0123456789abcdef", other[at])+1+rapid.IntRange(0, 14).Draw(t, "by"))%16]
		if u, ok := ParseUUID(string(other)); ok {
			if i, known := w.IndexOf(u); known {
				t.Fatalf("%s is no id of ours, but is taken for call %d", other, i)
			}
		}
	})
}

func TestParseUUIDIsStrict(t *testing.T) {
	good := newWorld(t, Config{}).ID(1).String()
	for _, bad := range []string{
		"", "x", strings.ToUpper(good), good + " ", good[:35], strings.ReplaceAll(good, "-", ""),
		good[:35] + "g", good[:8] + "_" + good[9:], "{" + good + "}",
	} {
		if _, ok := ParseUUID(bad); ok {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}
