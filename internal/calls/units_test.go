package calls

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
)

// A time in another unit than milliseconds, or without a zone, is read in its only plausible
// meaning and reported as drift; the original stays in extra.
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
		// To the millisecond, rounded down, also before 1970.
		{`"2026-11-19T09:15:01.200999Z"`, at, "converted"},
		{`"2026-11-19T09:15:01.200999999+00:00"`, at, "converted"},
		{`"2026-11-19T09:15:01.200999999999Z"`, at, "converted"},
		{`"2026-11-19T09:15:01.2009999"`, at, "zone"},
		{`"1969-12-31T23:59:59.9999Z"`, time.UnixMilli(-1), "converted"},
		{fmt.Sprintf("%d.25", at.UnixMilli()), at, "converted"},
		{fmt.Sprintf("%d.999999999999", at.UnixMilli()), at, "converted"},
		{fmt.Sprintf("%q", fmt.Sprintf("%d.999", at.UnixMilli())), at, "converted"},
		{fmt.Sprintf("%d.2009999999", at.Unix()), at, "unit"},
		{fmt.Sprintf("%d.75", at.UnixMicro()+7), at, "unit"},
		{"-0.5", time.UnixMilli(-1), "converted"},
		{"-1500.25", time.UnixMilli(-1501), "converted"},
		// As programs write them.
		{`"2026-11-19T18:15:01.2+0900"`, at, "converted"},
		{`"2026-11-19T18:15:01.2+09"`, at, "converted"},
		{`"2026-11-19 09:15:01.200999+00"`, at, "converted"},
		{`"2026-11-19 18:15:01.2 +0900"`, at, "converted"},
		{`"2026-11-19 09:15:01.2 UTC"`, at, "converted"},
		{`"2026-11-19t09:15:01,2z"`, at, "converted"},
		{`"2026-11-19T15:00:01.2+05:45"`, at, "converted"},
		{`"2026-11-19T05:45:01.2-03:30"`, at, "converted"},
		{`"2026-11-19T09:15Z"`, second.Truncate(time.Minute), "converted"},
		{`"2026-11-19T18:15:01.2\u002B09:00"`, at, "converted"},
		{`"2026-11-19T09:15:01.2Z "`, nil, "misfit"},
		{`"2026-11-19T09:15:01.Z"`, nil, "misfit"},
		{`"2026-11-19T09:15:01+9"`, nil, "misfit"},
		{`"2026-11-19T09:15:01 KST"`, nil, "misfit"},
		{`"2026-02-29T09:15:01Z"`, nil, "misfit"},
		{`"2026-11-19T24:15:01Z"`, nil, "misfit"},
		{`"2026-11-19"`, nil, "misfit"},
		{`""`, nil, "misfit"},
		{`"2026-11-19T09:15:01.` + strings.Repeat("0", 99) + `Z"`, nil, "misfit"},
		{"1.5e99", nil, "misfit"},
		{"1e-999999999", nil, "misfit"},
		{"1" + strings.Repeat("0", 40) + ".5", nil, "misfit"},
		{"true", nil, "misfit"},
		{"{}", nil, "misfit"},
		{"0", time.UnixMilli(0), ""},                        // an instant in any unit
		{"1000000.5", time.UnixMilli(1000000), "converted"}, // before the service existed: no other unit
		{"946684799", time.UnixMilli(946684799), ""},        // in seconds it would be in 1999
		{"1e99", nil, "misfit"},
		{"null", nil, ""},
	} {
		for _, form := range []string{`{"call_id":"a","start_timestamp":%s}`, `{"id":"a","start_at":%s}`} {
			body := fmt.Sprintf(form, c.sent)
			var d Decoder
			var call Call
			test.OK(t, d.Decode([]byte(body), schema.KindItem, &call))
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
			test.Same(t, c.drift, said, "%s: drift", body)
			checkLost(t, []byte(body), &call)
		}
	}
}
