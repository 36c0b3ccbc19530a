package schema

// Source is the version of the API that a call's JSON came from.
type Source uint8

const (
	// V3 has id, agent{}, start_at …
	V3 Source = iota
	// V2 has call_id, agent_id, start_timestamp …
	V2
)

// SourceWords are the words of the column source.
var SourceWords = Words{V3: "v3", V2: "v2"}

var sourceValues = SourceWords.Values()

// String returns the source's word, as in the column source.
func (s Source) String() string { return SourceWords.Text(int(s), "Source") }

// Source returns the version of the API that the object came from.
func (o *Object) Source() Source {
	if at := o.Of.source; at >= 0 {
		return Source(SourceWords.Of(o.Row[at]))
	}
	return V3
}

// SetSource sets it if the table has a column for it.
func (o *Object) SetSource(s Source) {
	if at := o.Of.source; at >= 0 {
		o.Row[at] = sourceValues[s]
	}
}
