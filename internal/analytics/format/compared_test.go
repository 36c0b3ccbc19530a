package format_test

import (
	"strings"
	"testing"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
)

// People get a comparison as one line per figure, without rows that have no figure; programs get
// the columns unchanged.
func TestCompared(t *testing.T) {
	points := func(name string) value.Column {
		return value.Column{Name: name, Kind: value.Float, Unit: value.Points, Null: "-"}
	}
	percent := func(name string) value.Column {
		return value.Column{Name: name, Kind: value.Float, Unit: value.Percent, Null: "-"}
	}
	ms := func(name string) value.Column {
		return value.Column{Name: name, Kind: value.Integer, Unit: value.Millis, Null: "-"}
	}
	columns := []value.Column{{Name: "agent", Kind: value.Text, Key: true}, percent("share"), percent("previous_share"), points("change_share"),
		points("change_low_share"), points("change_high_share"), percent("low"), percent("previous_low"), ms("mean"), ms("previous_mean"), ms("change_mean"),
		{Name: "verdict", Kind: value.Text, Null: "(none)"}, {Name: "previous_verdict", Kind: value.Text, Null: "(none)"}}
	src := func() format.Source {
		return format.NewStatic(columns, [][]any{
			{"ann", 60.0, 50.0, 10.0, 4.5, 15.5, 1.0, 1.0, int64(1000), int64(61_000), int64(-60_000), "better", nil},
			{"bob", 60.0, 70.0, -10.0, -15.5, -4.5, nil, nil, nil, nil, nil, nil, nil},
			{"eve", 60.0, 59.99, 0.01, -5.0, 5.02, nil, nil, int64(2), nil, nil, nil, nil},
			{"joe", nil, 59.99, nil, nil, nil, nil, nil, int64(62_000), int64(1000), int64(61_000), nil, nil},
		})
	}
	const want = `agent  figure   before     now   change  verdict    95 % bounds
───────────────────────────────────────────────────────────────
ann    share     50.0%   60.0%    +10.0  more     +4.5 to +15.5
       mean     1m 01s    1.0s  -1m 00s
       verdict  (none)  better
bob    share     70.0%   60.0%    -10.0  less     -15.5 to -4.5
eve    share     60.0%   60.0%      0.0  unclear   -5.0 to +5.0
       mean          -     2ms        -
joe    share     60.0%       -        -
       mean       1.0s  1m 02s  +1m 01s
`
	var b strings.Builder
	r, err := format.Write(t.Context(), &b, format.Table, format.Compared(src()), format.Options{Width: 80})
	if err != nil || b.String() != want || len(r.Notes) > 0 {
		t.Errorf("%v, %q:\n%s", err, r.Notes, b.String())
	}
	for _, c := range []struct {
		f   format.Format
		src format.Source
	}{{format.CSV, format.Compared(src())}, {format.Table, src()}} { // even if columns happen to have such names
		b.Reset()
		if _, err := format.Write(t.Context(), &b, c.f, c.src, format.Options{}); err != nil || strings.Count(b.String(), "\n") != 5 {
			t.Errorf("%s: %v\n%s", c.f, err, b.String())
		}
	}
}
