package sandbox

import (
	"net/http/httptest"
	"testing"
)

// BenchmarkCall measures the attributes of a call alone.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, Config{Seed: 1, Calls: 1_000_000})
	var c Call
	for i := range b.N {
		w.Call(&c, int64(i%1_000_000))
	}
}

func BenchmarkTruth100k(b *testing.B) {
	w := newWorld(b, Config{Seed: 1, Calls: 100_000})
	for range b.N {
		w.Truth(busy)
	}
}

func BenchmarkDetail(b *testing.B) { benchRender(b, (*Renderer).Detail) }
func BenchmarkItem(b *testing.B)   { benchRender(b, (*Renderer).Item) }
func BenchmarkV2(b *testing.B)     { benchRender(b, (*Renderer).V2) }

func benchRender(b *testing.B, render func(*Renderer, []byte, *View) []byte) {
	w := newWorld(b, Config{Seed: 1, Calls: 100_000})
	var r Renderer
	var body []byte
	bytes := 0
	for i := range b.N {
		v, ok := w.View(int64(i%90_000), busy)
		if !ok {
			b.Fatal("not shown")
		}
		body = render(&r, body[:0], v)
		bytes += len(body)
	}
	b.SetBytes(int64(bytes / b.N))
}

func BenchmarkPageOf100(b *testing.B) {
	s := newServer(b, Options{World: Config{Seed: 1, Calls: 10_000_000}})
	for range b.N {
		r := httptest.NewRequest("GET", "/v3/calls?limit=100&start_at_before=1794800000000", nil)
		r.Header.Set("Authorization", "Bearer sandbox-key")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
}
