package calls

import (
	"fmt"
	"testing"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// A time in another unit than milliseconds, or without a zone, is read in its only plausible
// meaning and reported as drift; the original stays in extra, so that the JSON can be rebuilt.
func TestUnitsOfTimes(t *testing.T) {
	at := time.Date(2026, 11, 19, 9, 15, 1, 200_000_000, time.UTC)
	second := at.Truncate(time.Second)
	for _, c := range []struct {
		sent  string
		want  any // time.Time; nil: the column is null
		drift string
	}{
		{fmt.Sprint(at.UnixMilli()), at, ""},
		{fmt.Sprint(at.Unix()), second, "unit"},
		{fmt.Sprint(at.UnixMicro() + 7), at, "unit"},
		{fmt.Sprint(at.UnixNano() + 7), at, "unit"},
		{fmt.Sprintf("%d.2", at.Unix()), at, "unit"},
		{fmt.Sprintf("%q", fmt.Sprint(at.Unix())), second, "unit"},
		{fmt.Sprintf("%q", fmt.Sprint(at.UnixMilli())), at, "converted"},
		{`"2026-11-19T09:15:01.200Z"`, at, "converted"},
		{`"2026-11-19T18:15:01.2+09:00"`, at, "converted"},
		{`"2026-11-19T09:15:01.200"`, at, "zone"},
		{`"2026-11-19 09:15:01"`, second, "zone"},
		{`"19.11.2026"`, nil, "misfit"},
		{"0", time.UnixMilli(0), ""},                 // an instant in any unit
		{"1000000.5", nil, "misfit"},                 // before the service existed
		{"946684799", time.UnixMilli(946684799), ""}, // in seconds it would be in 1999
		{"1e99", nil, "misfit"},
		{"null", nil, ""},
	} {
		for _, form := range []string{`{"call_id":"a","start_timestamp":%s}`, `{"id":"a","start_at":%s}`} {
			body := fmt.Sprintf(form, c.sent)
			var d Decoder
			var call Call
			if err := d.Decode([]byte(body), schema.KindItem, &call); err != nil {
				t.Fatal(err)
			}
			var got any
			if start := call.StartAt(); start.OK {
				got = time.UnixMilli(start.V)
			}
			if want, ok := c.want.(time.Time); ok != (got != nil) || ok && !want.Equal(got.(time.Time)) {
				t.Errorf("%s is read as %v, want %v", body, got, c.want)
			}
			said := ""
			for _, drift := range d.Drift {
				if drift.Kind != wire.DriftUnknownField {
					said += drift.Kind.String()
				}
			}
			if said != c.drift {
				t.Errorf("%s: drift %q, want %q", body, said, c.drift)
			}
			if back := string(call.AppendJSON(nil)); back != body {
				t.Errorf("%s comes back as %s", body, back)
			}
			if _, start, ok := Peek([]byte(body)); ok && start != call.StartAt() {
				t.Errorf("%s: peek has %v, decode %v", body, start, call.StartAt())
			}
		}
	}
}
