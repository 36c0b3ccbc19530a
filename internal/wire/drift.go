package wire

import (
	"maps"

	"callhouse/internal/schema"
)

// DriftKind is a way in which the service's JSON departs from the columns' expectations. No
// departure is an error, and none loses data, except as described at DriftWithheld and
// DriftReplaced.
type DriftKind uint8

const (
	// DriftConverted is a value of another JSON type that equals a value of the column's type: the
	// column has that value. Of a time in another form, extra has the text as sent.
	DriftConverted DriftKind = iota + 1
	// DriftMismatch is a value that equals none of the column's type: the column is null, and extra
	// has the text as sent. It is also the end of a turn before its start, which the column keeps.
	DriftMismatch
	// DriftUnknownField is a field without a column: it is in extra.
	DriftUnknownField
	// DriftUnknownValue is a word that is not one of the field's known words: the column has it as
	// sent.
	DriftUnknownValue
	// DriftRenamed is a field under its name in the API's other version.
	DriftRenamed
	// DriftWithheld is a value that was sent although the caller opted out of storage: it is
	// dropped.
	DriftWithheld
	// DriftReplaced is text that is not valid Unicode (a byte that is not UTF-8, half of a
	// surrogate pair): it becomes U+FFFD. Nothing else is lost.
	DriftReplaced
	// DriftUnit is an instant in seconds, microseconds or nanoseconds instead of milliseconds: the
	// column has the same instant, extra the number as sent.
	DriftUnit
	// DriftZone is a time without a zone: the column has it as UTC, extra the text as sent.
	DriftZone
)

var driftWords = schema.Words{
	DriftConverted: "converted", DriftMismatch: "misfit", DriftUnknownField: "unknown_field",
	DriftUnknownValue: "unknown_value", DriftRenamed: "renamed", DriftWithheld: "withheld",
	DriftReplaced: "replaced", DriftUnit: "unit", DriftZone: "zone",
}

// String returns the kind's word, as run reports show it.
func (k DriftKind) String() string { return driftWords.Text(int(k), "DriftKind") }

// Drift counts one kind of departure at one place of a call's JSON.
type Drift struct {
	// Path is the field's place, such as "status" or "transcript[].role".
	Path  string
	Kind  DriftKind
	Count int
}

// DriftKey is a place in an object's JSON, and the kind of its departure.
type DriftKey struct {
	Path string
	Kind DriftKind
}

// maxDriftKeys is the maximum number of keys in DriftCounts.
const maxDriftKeys = 1000

// DriftCounts counts departures by place and kind.
type DriftCounts map[DriftKey]int64

// Add counts departures, and returns how many there are. Those of kind DriftWithheld do not count:
// such an object is correct.
func (c DriftCounts) Add(drift []Drift) (n int64) {
	for _, d := range drift {
		if d.Kind == DriftWithheld {
			continue
		}
		n += int64(d.Count)
		key := DriftKey{d.Path, d.Kind}
		if _, ok := c[key]; ok || len(c) < maxDriftKeys {
			c[key] += int64(d.Count)
		}
	}
	return n
}

// Plus returns the sum of two counts, which it does not change.
func (c DriftCounts) Plus(o DriftCounts) DriftCounts {
	if len(c) == 0 {
		return o
	}
	sum := maps.Clone(c)
	for key, n := range o {
		if _, ok := sum[key]; ok || len(sum) < maxDriftKeys {
			sum[key] += n
		}
	}
	return sum
}

// Limits on the cost of hostile field names. Beyond them, unknown fields are counted under the path
// otherFields of their parent.
const (
	maxDriftName  = 64
	maxDriftNames = 256
	otherFields   = "*"
)

// drift counts one departure at path in the Drift of the current decode.
func (d *Decoder) drift(path string, kind DriftKind) {
	for i := range d.Drift {
		if r := &d.Drift[i]; r.Kind == kind && r.Path == path {
			r.Count++
			return
		}
	}
	d.Drift = append(d.Drift, Drift{path, kind, 1})
}

// driftUnknown counts the fields without a column.
func (d *Decoder) driftUnknown(p *part) {
	for i := range p.unknown {
		name := p.unknown[i].Name
		if len(name) > maxDriftName || len(d.Drift) >= maxDriftNames {
			name = []byte(otherFields)
		}
		d.drift(p.prefix+string(name), DriftUnknownField)
	}
}
