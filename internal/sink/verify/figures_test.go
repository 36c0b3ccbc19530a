package verify

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/layout"
)

// If any figure of a file differs, the reason names it; equal figures make no difference. The test
// takes the figures from the struct, so that it covers new ones as well.
func TestEveryFigureIsNamed(t *testing.T) {
	t.Parallel()
	at := int64(1_795_000_000_000)
	sample := func() layout.File {
		start, end, oldest, expiry, ended := at, at, at, at, at
		return layout.File{Table: "calls", MinStart: &start, MaxStart: &end, Unsettled: 7, Unstarted: 7, Undated: 7, Due: 7, Unsure: 7, Unreadable: 7,
			Skipped: map[string]int64{"kind": 7}, Bulk: 7, UnheldCosts: 7, OldestUnsettled: &oldest, NextExpiry: &expiry,
			Unarchived: 7, OldestUnarchived: &ended, Recordings: map[string]int64{"stored": 7}, AudioBytes: 7}
	}
	figures := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[layout.File]()) {
		if slices.Contains(identity, field.Name) {
			continue
		}
		figures++
		listed, counted := sample(), sample()
		if v := reflect.ValueOf(&listed).Elem().FieldByIndex(field.Index); v.IsZero() {
			t.Errorf("the sample has no %s", field.Name)
			continue
		}
		if what := differ(&listed, &counted); what != "" {
			t.Errorf("the same figures differ: %s", what)
		}
		change(reflect.ValueOf(&listed).Elem().FieldByIndex(field.Index))
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if what := differ(&listed, &counted); !strings.HasPrefix(what, name+" ") {
			t.Errorf("another %s gives %q", field.Name, what)
		}
		reflect.ValueOf(&listed).Elem().FieldByIndex(field.Index).SetZero()
		if what := differ(&listed, &counted); !strings.HasPrefix(what, name+" ") {
			t.Errorf("no %s gives %q", field.Name, what)
		}
	}
	if figures < 10 {
		t.Errorf("%d figures", figures)
	}
}

// change sets a figure to a larger value.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Elem().SetInt(v.Elem().Int() + 1)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]int64{"kind": 8}))
	default:
		v.SetInt(v.Int() + 1)
	}
}
