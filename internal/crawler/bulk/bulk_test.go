package bulk

import (
	"math"
	"testing"

	"callhouse/internal/calls"
)

// The sample has the documented size: twenty of the first page, and one in five hundred.
func TestSampleOfPages(t *testing.T) {
	b := New(Config{})
	due := make([]calls.Due, 400)
	for i := range due {
		due[i].CallID = string(rune('a' + i))
	}
	compared := func(proven int) (n int) {
		b.compared = proven
		for _, keep := range b.newPage(t.Context(), due, 500).wanted {
			if !keep {
				n++
			}
		}
		return n
	}
	if n := compared(0); n < sampled || n > sampled+12 {
		t.Errorf("%d of the first page are compared", n)
	}
	sum := 0
	for range 1000 {
		sum += compared(sampled)
	}
	want := 1000 * len(due) / oneIn
	if math.Abs(float64(sum-want)) > 6*math.Sqrt(float64(want)) { // once in 10^9
		t.Errorf("%d are compared of 400,000, want about %d", sum, want)
	}
}
