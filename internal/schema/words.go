package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// Words are the words of a column. Each stands for its index. They are part of the warehouse's
// contract.
type Words []string

// Values returns the words as values of rows.
func (w Words) Values() (values []parquet.Value) {
	for _, word := range w {
		values = append(values, TextValue([]byte(word)))
	}
	return values
}

// Find returns the index of a text among the words.
func (w Words) Find(text []byte) (n int, ok bool) {
	for i, word := range w {
		if string(text) == word {
			return i, true
		}
	}
	return 0, false
}

// Of returns the index of a value among the words; 0 if it is not one of them.
func (w Words) Of(v parquet.Value) int {
	n, _ := w.Find(v.ByteArray())
	return n
}

// Text returns the word n; for an unknown number, what(n).
func (w Words) Text(n int, what string) string {
	if n < len(w) {
		return w[n]
	}
	return fmt.Sprintf("%s(%d)", what, n)
}

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
