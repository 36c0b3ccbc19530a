package resource

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/wire/scan"
)

// The secrets withheld from JSON are texts under names such as accessToken, passwords in addresses,
// keys in query strings, values of headers, and texts of the form of well-known keys. The rules depend
// on the form of names and values, not on the resource. Everything else keeps its exact spelling, and
// prompts and other long texts lose only the secret part.
//
// A secret that neither a name nor a form reveals is not found: one in a sentence, or a random text
// under a name such as key. The corpus in testdata counts misses and false alarms.

// withheld replaces a secret.
const withheld = "[withheld]"

// Scrub returns the JSON of an object, as the service sent it, without its secrets: body itself, not
// a copy, if it holds none. The error wraps a *scan.Error if body is not one JSON object.
func (r *Resource) Scrub(body []byte) ([]byte, error) {
	w := walker{hide: r.Secrets, text: body}
	for _, col := range r.keys {
		c := &r.Table.Columns[col]
		w.keep = append(w.keep, c.Name, c.V3, c.V2)
	}
	return w.clean()
}

// maxNested is the maximum nesting of JSON inside texts.
const maxNested = 8

// walker walks through one JSON text.
type walker struct {
	hide   []string // members, at any depth and in lower case, whose texts are all withheld
	keep   []string // members of the object itself that are never changed: its key
	text   []byte
	edits  []edit
	nested int
}

// clean returns the JSON of an object without its secrets.
func (w *walker) clean() ([]byte, error) {
	v, err := scan.Whole(w.text)
	if err != nil {
		return nil, fmt.Errorf("cannot be decoded: %w", err)
	}
	w.object(v, view{}, true)
	return w.edited(), nil
}

// edit replaces a part of the text.
type edit struct {
	from, to int
	with     []byte
}

// view determines how a value is checked, which depends on the names above it.
type view struct {
	sense
	all   bool // withhold every text, without exception
	query bool // members are the parameters of a query
}

// edited returns the text with all edits applied.
func (w *walker) edited() []byte {
	if len(w.edits) == 0 {
		return w.text
	}
	out, at := make([]byte, 0, len(w.text)), 0
	for _, e := range w.edits {
		out = append(append(out, w.text[at:e.from]...), e.with...)
		at = e.to
	}
	return append(out, w.text[at:]...)
}

// replace replaces a value.
func (w *walker) replace(v scan.Value, with []byte) {
	from := cap(w.text) - cap(v.Raw) // v.Raw is a part of w.text
	w.edits = append(w.edits, edit{from, from + len(v.Raw), with})
}

func (w *walker) visit(v scan.Value, as view) {
	switch v.Shape {
	case scan.IsObject:
		w.object(v, as, false)
	case scan.IsArray:
		for e := range scan.Elements(v.Raw) {
			w.visit(e, as)
		}
	case scan.IsString:
		w.str(v, as)
	case scan.IsNumber:
		if as.numbers {
			w.replace(v, []byte(`"`+withheld+`"`))
		}
	}
}

// object checks each member by its name. If an object has a name in one member and its value in
// another, the value is checked under that name.
func (w *walker) object(v scan.Value, as view, whole bool) {
	pair, paired := pairOf(v, as.query)
	for m := range scan.Members(v.Raw) {
		text := string(m.Name)
		if whole && slices.Contains(w.keep, text) {
			continue
		}
		n := nameOf(text, as.query)
		switch {
		case as.all:
			w.visit(m.Value, as)
		case slices.Contains(w.hide, strings.ToLower(text)):
			w.visit(m.Value, view{all: true})
		case paired && n.value && !as.secret:
			w.visit(m.Value, view{sense: pair})
		case paired && n.naming, as.secret && !as.headers && n.plain:
			w.visit(m.Value, view{})
		case as.headers:
			w.visit(m.Value, view{sense: as.sense})
		case as.secret && !n.secret && !n.address: // the object itself has a secret name
			w.visit(m.Value, view{sense: sense{secret: true, numbers: as.numbers && n.value}})
		default:
			w.visit(m.Value, view{sense: n.sense, query: n.query})
		}
	}
}

var parametersRE = match(`(?s)[?#].*`)

// str checks a text.
func (w *walker) str(v scan.Value, as view) {
	text := v.Raw[1 : len(v.Raw)-1]
	if v.Marks&scan.Escaped != 0 {
		text = scan.AppendUnescaped(nil, text)
	}
	clean := text
	switch {
	case len(text) == 0:
	case as.all, as.headers && !isReference(text), as.secret && !isReference(text) && notPlain(text):
		clean = []byte(withheld)
	case as.secret:
	case as.address: // its query is often a signature or a key
		clean = parametersRE.ReplaceAll(masked(text, false), []byte("?"+withheld))
	default:
		if inner, ok := w.json(text); ok {
			clean = inner
		} else {
			clean = masked(text, as.query)
		}
	}
	if !bytes.Equal(clean, text) {
		w.replace(v, scan.AppendString(nil, clean))
	}
}

// json withholds the secrets in a JSON text. It returns false if the text is not JSON.
func (w *walker) json(text []byte) (clean []byte, ok bool) {
	var s scan.Scanner
	s.Reset(text)
	s.Space()
	if w.nested >= maxNested || !s.Before('{') && !s.Before('[') && !s.Before('"') {
		return nil, false
	}
	v, ok := s.Value(0)
	if !ok || !s.End() {
		return nil, false
	}
	in := walker{hide: w.hide, text: text, nested: w.nested + 1}
	in.visit(v, view{})
	return in.edited(), true
}

// pairOf returns the sense of a pair's value, as in {"name": "token", "value": …}; ok is false if
// the object is not a pair.
func pairOf(v scan.Value, query bool) (s sense, ok bool) {
	named, valued := false, false
	for m := range scan.Members(v.Raw) {
		n := nameOf(string(m.Name), false)
		valued = valued || n.value
		if m.Value.Shape == scan.IsString && n.naming {
			named = true
			if of := nameOf(string(scan.KeyText(m.Value)), query); of.secret && !of.headers {
				s = of.sense
			}
		}
	}
	return s, named && valued
}
