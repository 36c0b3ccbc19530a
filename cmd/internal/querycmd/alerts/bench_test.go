package alerts

import (
	"math/rand/v2"
	"testing"
	"time"

	"callhouse/internal/alert"
)

func BenchmarkRead(b *testing.B) {
	root := house(b, company(rand.New(rand.NewPCG(7, 7)), firstNight.AddDate(0, 0, -70), 100, 3, 100, nil))
	path := rules(b, "http://127.0.0.1:1", nightly)
	c, _, _ := over(root, path, firstNight, nil)
	f, err := c.file()
	if err != nil {
		b.Fatal(err)
	}
	w, err := c.Open(b.Context(), time.UTC)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	e := newEvaluator(w, "")
	for _, r := range f.Rules {
		b.Run(r.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.read(b.Context(), r, firstNight, map[string]alert.Item{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
