package crawler

import (
	"testing"
	"time"

	"callhouse/internal/api"
)

// The first run is estimated from the number of calls alone.
func TestFirst(t *testing.T) {
	if p := First(521); p.Pages != (Range{6, 6}) || p.Transcripts != (Range{23, 521}) {
		t.Errorf("521 calls: %+v", p)
	}
	if p := First(3); p.Pages != (Range{1, 1}) || p.Transcripts != (Range{0, 3}) {
		t.Errorf("3 calls: %+v", p)
	}
	cfg := api.Config{PerSecond: 5, PerMinute: 120, Share: 0.5}
	if d := Takes(&cfg, 580); d != 10*time.Minute { // half of 116 a minute
		t.Errorf("580 requests take %v", d)
	}
}
