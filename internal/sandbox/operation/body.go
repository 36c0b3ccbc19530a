package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Violation is an error in a body and its place; empty: the whole body.
type Violation struct {
	Place  []string
	Reason string
}

// compiled are the compiled schemas, which also enforce formats. A name without a scheme would be a path
// below the working directory.
var compiled = sync.OnceValue(func() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:///openapi.json", Object{"components": Object{"schemas": Schemas()}}); err != nil {
		panic("sandbox: " + err.Error()) // built-in
	}
	return c
})

var compiling sync.Mutex

// ReadBody parses a body and validates it against its schema. Whole numbers are normalised: 5.0 becomes 5.
func (o *Operation) ReadBody(text []byte) (any, *Violation) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, &Violation{Reason: "the body is not JSON: " + err.Error()}
	}
	compiling.Lock()
	s, err := compiled().Compile("mem:///openapi.json#/components/schemas/" + o.Body)
	compiling.Unlock()
	if err != nil {
		panic("sandbox: " + err.Error()) // built-in
	}
	var wrong *jsonschema.ValidationError
	if err := s.Validate(value); !errors.As(err, &wrong) {
		return Whole(value), nil
	}
	for len(wrong.Causes) > 0 { // the first place in alphabetical order, as the validator's order is random
		wrong = slices.MinFunc(wrong.Causes, func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
	}
	place := wrong.InstanceLocation
	switch k := wrong.ErrorKind.(type) { // the error is at a member
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties) // the validator's order is random
		place = append(place, k.Properties[0])
	case *kind.Required:
		place = append(place, k.Missing[0])
	}
	return nil, &Violation{Place: place, Reason: wrong.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
}

// Whole converts whole numbers in a value to int64 if that is exact: 5.0 becomes 5.
func Whole(value any) any {
	switch v := value.(type) {
	case Object:
		for name, value := range v {
			v[name] = Whole(value)
		}
	case []any:
		for i, value := range v {
			v[i] = Whole(value)
		}
	case int:
		return int64(v)
	case json.Number:
		if n, err := v.Int64(); err == nil && strconv.FormatInt(n, 10) == v.String() {
			return n
		}
		if n, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int64(n)
		}
	}
	return value
}
