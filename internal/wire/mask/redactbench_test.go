package mask

import (
	"testing"
	"time"

	"callhouse/internal/personal"
	"callhouse/internal/personal/kinds"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// BenchmarkRedact redacts the sandbox's calls, with and without personal data.
func BenchmarkRedact(b *testing.B) {
	now := time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)
	for name, planted := range map[string]bool{"personal": true, "plain": false} {
		w, err := world.New(world.Config{Seed: 1, Calls: 500, Origin: now, Personal: planted})
		test.OK(b, err)
		var rd render.Renderer
		var bodies [][]byte
		size := 0
		for v := range w.Visible(now) {
			bodies = append(bodies, rd.Detail(nil, v))
			size += len(bodies[len(bodies)-1])
		}
		r, err := NewRedactor(personal.Options{Kinds: kinds.All, Countries: []string{"KR", "US"}})
		test.OK(b, err)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, body := range bodies {
					if _, _, err := r.Apply(new([]byte), body); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
