package crawler

import (
	"callhouse/internal/test"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/longtest"
)

// FuzzHostileService replaces one item of the service's list, and that call's own record, with
// arbitrary bytes. In every case the run ends, every other call is stored with its record, every
// listed item is stored or set aside, and requests and memory stay within bounds.
func FuzzHostileService(f *testing.F) {
	tried := longtest.Each(8)
	for i, item := range []string{
		`{"id":"x","start_at":-1}`, `{"id":"x","start_at":1e300}`, `null`, `7`, ``, `,`, `,,`, `"`, `{"id":"x`, `{"id":"x"}}`, `]`,
		`{"id":"a"},{"id":"b"}`, `{"id":"x","n":NaN}`, "{\"id\":\"x\",\"c\":\"\x00\x01\"}", `{"id":"x","q":"a"b"}`, `{"id":"x","e":"\`,
		`{"id":"x","d":` + strings.Repeat("[", 12_000) + strings.Repeat("]", 12_000) + `}`,
		`{"id":"call-000001","start_at":1}`, `{"id":"x","next_cursor":null}],"next_cursor":null,"x":[`, `{"id":"x","b":[1,2}`, "\xff\xfe",
		`{"id":"x","start_at":1799999999999,"call_analysis":{"custom_analysis_data":[` + strings.Repeat("{},", 200_000) + `{}]}}`,
	} {
		if !tried(i) {
			continue
		}
		f.Add([]byte(item), []byte(item), uint8(i*37), uint8(i))
		f.Add([]byte(item), []byte(`{"id":"call-000009","status":"ended"}`), uint8(99), uint8(i+1))
	}
	if longtest.On() { // TestBadItemOnAPage has one too large
		for i, place := range []uint8{120, 0} {
			f.Add([]byte(`{"id":"x","pad":"`), []byte(`{"pad":"`), place, uint8(padded|i*contract))
		}
	}
	f.Fuzz(func(t *testing.T, item, record []byte, place, how uint8) {
		if len(item) > 1<<20 || len(record) > 1<<20 {
			return
		}
		synctest.Test(t, func(t *testing.T) { meetHostile(t, item, record, int(place), how) })
	})
}

// Properties of FuzzHostileService's service, as bits.
const (
	contract = 1 << iota // accepts only the contract's parameters
	offsets              // its cursors count from the top
	cutItem              // pages end within the item
	padded               // the item and the record exceed the maximum size
)

func meetHostile(t *testing.T, item, record []byte, place int, how uint8) {
	if how&padded != 0 {
		how &^= cutItem // dozens of bodies of that size would exceed a fuzzer's patience
		pad := []byte(strings.Repeat("x", api.MaxBody))
		item, record = slices.Concat(item, pad), slices.Concat(record, pad) // the fuzzer's own memory is unchanged
	}
	calls := someCalls(256, time.Hour)
	odd := calls[place].ID
	s := &service{calls: calls, plain: how&contract != 0, offset: how&offsets != 0}
	sent := 0
	s.raw = func(c testCall, good []byte) string {
		if c.ID == odd {
			good = item
		}
		sent += len(good)
		return string(good)
	}
	if how&cutItem != 0 && len(item) > 11 { // long enough to be found in the page
		s.rawPage = func(ids []string, body []byte) []byte {
			if i := slices.Index(ids, odd); i >= 0 && strings.Contains(string(body), string(item)) {
				return body[:strings.Index(string(body), string(item))+len(item)]
			}
			return body
		}
	}
	s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		is := strings.HasSuffix(r.URL.Path, "/"+odd)
		if is {
			sent += len(record)
			_, _ = w.Write(record)
		}
		return is
	}
	store := newMemStore()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := s.visit(t, store, func(cfg *Config) { cfg.Logger = nil })
	runtime.ReadMemStats(&after)
	whole := json.Valid(item) && how&cutItem == 0 // otherwise the page is broken, or has other items than the service meant to send
	if _, down := errors.AsType[*api.ServiceDownError](err); err != nil && (whole || !down) {
		t.Fatalf("the run failed: %v", err)
	}
	test.Same(t, 0, r.Unaccounted(), "not accounted for: %+v", r.Counts)
	if r.Requests > 256+120 {
		t.Errorf("%d requests", r.Requests)
	}
	if used, may := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+16*sent); used > may {
		t.Errorf("%d MiB were allocated, %d may be", used>>20, may>>20)
	}
	if !whole {
		return
	}
	if len(r.Problems) > 0 {
		t.Errorf("problems: %q", r.Problems)
	}
	for _, c := range calls {
		if _, ok := store.items[c.ID]; !ok && c.ID != odd {
			t.Fatalf("call %s is not stored; set aside: %v", c.ID, r.Aside)
		}
		if store.details[c.ID] != 1 && c.ID != odd {
			t.Fatalf("the record of call %s was stored %d times", c.ID, store.details[c.ID])
		}
	}
	if _, ok := store.items[odd]; !ok && r.ItemsAside == 0 && r.ItemsStored < 256 && r.CallsListed-r.ItemsRepeated > 255 {
		t.Errorf("the odd item is neither stored nor set aside: %+v", r.Counts)
	}
}
