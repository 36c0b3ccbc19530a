package resource

import (
	"testing"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
)

// Times of a resource are read in every form that calls may have.
func TestTimesOfResources(t *testing.T) {
	for sent, want := range map[string]int64{
		`"2026-11-19T18:15:01.2+09:00"`:       1795079701200,
		`"2026-11-19 18:15:01.2+0900"`:        1795079701200,
		`"2026-11-19 09:15:01.200999+00"`:     1795079701200,
		`"2026-11-19T09:15:01.200999999999Z"`: 1795079701200,
		`"2026-11-19 09:15:01.2009"`:          1795079701200,
		`1795079701200.75`:                    1795079701200,
	} {
		var d wire.Decoder
		var o schema.Object
		test.OK(t, d.Decode(Campaigns.Resource, []byte(`{"id":"7","created_at":`+sent+`}`), schema.KindItem, &o))
		if at := schema.MillisOf(o.Row[Campaigns.Table.Column("created_at")]); at.V != want {
			t.Errorf("%s is read as %v", sent, at)
		}
	}
}
