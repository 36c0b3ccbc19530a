package sandbox

import (
	"net/http/httptest"
	"testing"
)

func BenchmarkPageOf100(b *testing.B) {
	s := newServer(b, Options{World: Config{Seed: 1, Calls: 10_000_000}})
	for range b.N {
		r := httptest.NewRequest("GET", "/v3/calls?limit=100&start_at_before=1794800000000", nil)
		r.Header.Set("Authorization", "Bearer sandbox-key")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
}
