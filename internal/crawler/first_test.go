package crawler

import (
	"testing"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/crawler/forecast"
)

// The first night is forecast from the number of calls alone, as in extract plan.
func TestFirst(t *testing.T) {
	cfg := api.Config{PerSecond: 5, PerMinute: 120, Share: 0.5}
	p := First(&cfg, 521)
	if p.List != forecast.Exactly(6) || p.Bulk.Most != 8 || p.Compared.Most != 28 || p.Fallback != 529 {
		t.Errorf("521 calls: %+v", p)
	}
	if p = First(&cfg, 3); p.List != forecast.Exactly(1) || p.Fallback != 0 || p.Records.Most != 3 {
		t.Errorf("3 calls: %+v", p)
	}
	if d := Takes(&cfg, 580); d != 10*time.Minute { // half of 116 a minute
		t.Errorf("580 requests take %v", d)
	}
}
