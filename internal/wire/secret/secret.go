// Package secret withholds secrets from JSON: texts under names such as accessToken, passwords in
// addresses, keys in query strings, and texts that look like the keys of well-known services. Its
// rules depend on the form of names and values, not on the resource. Everything else keeps its
// exact spelling, and prompts and other long texts lose only the secret part.
//
// If a name is unambiguous (password), the rules prefer to withhold. If it is ambiguous (key), they
// prefer to keep: only a text that looks random is withheld. The corpus in testdata counts misses
// and false alarms.
//
// Withholding is idempotent: it leaves withheld values unchanged.
package secret

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/wire/scan"
)

// Mark replaces a secret.
const Mark = "[withheld]"

// Place is the place of a secret, or of a mark. It does not contain the secret.
type Place struct {
	Path  string // such as data.tools[0].url; JSON inside a text adds a path of its own: body/token
	Why   string // the rule
	Clear bool   // the secret is still in place
}

// Rules are the additional rules of a kind of object.
type Rules struct {
	Hide []string // members, at any depth and in lower case, whose texts are all withheld
	Keep []string // members of the object itself that are never changed: its key
}

// Withhold returns the JSON of an object without its secrets: body itself, not a copy, if it holds
// none. It also returns every place where something is or was withheld. The error wraps a
// *scan.Error if body is not one JSON object.
func (r Rules) Withhold(body []byte) (clean []byte, places []Place, err error) {
	v, err := scan.Whole(body)
	if err != nil {
		return nil, nil, err
	}
	w := walker{Rules: r, text: body}
	w.visit(v, view{})
	return w.edited(), w.places, nil
}

// AnyClear reports whether one of the places still holds its secret.
func AnyClear(places []Place) bool {
	return slices.ContainsFunc(places, func(p Place) bool { return p.Clear })
}

// mostNested is the maximum nesting of JSON inside texts.
const mostNested = 8

// walker walks through one JSON text.
type walker struct {
	Rules
	text   []byte
	path   []string
	edits  []edit
	places []Place
	nested int
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
	props bool // members define properties instead of setting them
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

func (w *walker) found(why string, isClear bool) {
	w.places = append(w.places, Place{strings.TrimPrefix(strings.Join(w.path, ""), "."), why, isClear})
}

// replace replaces a value.
func (w *walker) replace(v scan.Value, with []byte) {
	from := cap(w.text) - cap(v.Raw) // v.Raw is a part of w.text
	w.edits = append(w.edits, edit{from, from + len(v.Raw), with})
}

func (w *walker) visit(v scan.Value, as view) {
	switch v.Shape {
	case scan.IsObject:
		w.object(v, as)
	case scan.IsArray:
		i := 0
		for e := range scan.Elements(v.Raw) {
			w.path = append(w.path, "["+strconv.Itoa(i)+"]")
			w.visit(e, as)
			w.path = w.path[:len(w.path)-1]
			i++
		}
	case scan.IsString:
		w.str(v, as)
	case scan.IsNumber:
		if as.numbers && as.level == certain {
			w.found(as.why, true)
			w.replace(v, []byte(`"`+Mark+`"`))
		}
	}
}

// object checks each member by its name. If an object has a name in one member and its value in
// another, the value is checked under that name.
func (w *walker) object(v scan.Value, as view) {
	var pair sense
	paired := false
	if !as.all && !as.props {
		pair, paired = pairOf(v, as.query)
	}
	for m := range scan.Members(v.Raw) {
		name := string(m.Name)
		if len(w.path) == 0 && w.nested == 0 && slices.Contains(w.Keep, name) {
			continue
		}
		w.path = append(w.path, "."+name)
		w.visit(m.Value, w.inner(name, &m.Value, as, pair, paired))
		w.path = w.path[:len(w.path)-1]
	}
}

// inner returns how a member is checked.
func (w *walker) inner(name string, v *scan.Value, as view, pair sense, paired bool) view {
	plain := plainName(name)
	switch {
	case as.all:
		return as
	case slices.Contains(w.Hide, strings.ToLower(name)):
		return view{sense: sense{level: certain, why: "withheld for every " + name}, all: true}
	case paired && values[plain]:
		if pair.level > as.level {
			return view{sense: pair}
		}
		return view{sense: as.sense}
	case paired && naming[plain]:
		return view{}
	case propertiesOf[plain] && definesAll(v):
		return view{props: true}
	}
	s := senseIn(name, as.query)
	if as.level > harmless && !as.props { // the object itself has a secret name
		switch {
		case as.headers:
			return view{sense: as.sense}
		case combines[plain]:
			return view{sense: as.sense}
		case structural[plain], keywords[plain]:
			return view{}
		case s.address && s.level == harmless:
			return view{sense: sense{address: true}}
		case s.level < as.level:
			s.level, s.why, s.numbers = as.level, as.why, as.numbers && values[plain]
		}
	}
	return view{sense: s, query: queries[plain]}
}

// str checks a text.
func (w *walker) str(v scan.Value, as view) {
	text := v.Raw[1 : len(v.Raw)-1]
	if v.Marks&scan.Escaped != 0 {
		text = scan.AppendUnescaped(nil, text)
	}
	switch {
	case len(text) == 0:
	case string(text) == Mark:
		w.found(orFormat(as.why), false)
	case as.all, as.level == certain && !w.told(text, as.sense):
		w.found(as.why, true)
		w.replace(v, []byte(`"`+Mark+`"`))
	case as.level == certain:
	case as.level == suspect && random(text):
		w.found(as.why+", and the text looks random", true)
		w.replace(v, []byte(`"`+Mark+`"`))
	case as.address:
		w.part(v, w.address(text))
	default:
		w.inside(v, text, as.query)
	}
}

// told reports whether a text under a certain name describes the secret or its source, instead of
// being the secret.
func (w *walker) told(text []byte, as sense) bool {
	return isReference(text) || as.kinds && kindsOfAuth[plainName(string(text))]
}

// address removes the query of an address, which is often a signature or a key.
func (w *walker) address(text []byte) []byte {
	query := bytes.IndexAny(text, "?#")
	if query < 0 {
		return w.masked(text, false, false)
	}
	rest := text[query:]
	clean := w.masked(text[:query], false, false)
	isClear := string(rest) != "?"+Mark
	w.found("query of an address", isClear)
	if !isClear {
		return append(slices.Clip(clean), rest...)
	}
	return append(slices.Clip(clean), "?"+Mark...)
}

// inside looks for secrets in a text that is not itself a secret.
func (w *walker) inside(v scan.Value, text []byte, query bool) {
	if inner, ok := w.json(text); ok {
		w.part(v, inner)
		return
	}
	first := bytes.TrimLeft(text, " \t\r\n")
	body := len(first) > 0 && (first[0] == '{' || first[0] == '[') && !bytes.HasPrefix(first, []byte(Mark))
	w.part(v, w.masked(text, query, body))
}

// json withholds the secrets in a JSON text. It returns false if the text is not JSON.
func (w *walker) json(text []byte) (clean []byte, ok bool) {
	var s scan.Scanner
	s.Reset(text)
	s.Space()
	if w.nested >= mostNested || !s.Before('{') && !s.Before('[') && !s.Before('"') {
		return nil, false
	}
	v, ok := s.Value(0)
	if !ok || !s.End() {
		return nil, false
	}
	in := walker{Rules: Rules{Hide: w.Hide}, text: text, path: append(slices.Clip(w.path), "/"), nested: w.nested + 1}
	in.visit(v, view{})
	for _, p := range in.places {
		p.Path = strings.ReplaceAll(p.Path, "/.", "/")
		w.places = append(w.places, p)
	}
	return in.edited(), true
}

// mostRounds is the maximum number of searches of one text.
const mostRounds = 8

// masked replaces the secrets in a text with the mark. Afterwards, the text next to one may look
// like another secret, so the search is repeated until it finds nothing.
func (w *walker) masked(text []byte, query, body bool) []byte {
	for round := range mostRounds {
		var out []byte
		at := 0
		for _, s := range inText(text, query, body) {
			isClear := string(text[s.from:s.to]) != Mark
			if isClear || round == 0 {
				w.found(s.why, isClear)
			}
			if isClear {
				out = append(append(out, text[at:s.from]...), Mark...)
				at = s.to
			}
		}
		if at == 0 {
			return text
		}
		text = append(out, text[at:]...)
	}
	return []byte(Mark)
}

// part replaces a text with its clean form if that differs.
func (w *walker) part(v scan.Value, clean []byte) {
	if v.Marks&scan.Escaped == 0 && bytes.Equal(clean, v.Raw[1:len(v.Raw)-1]) {
		return
	}
	if v.Marks&scan.Escaped != 0 && bytes.Equal(clean, scan.AppendUnescaped(nil, v.Raw[1:len(v.Raw)-1])) {
		return
	}
	w.replace(v, scan.AppendString(nil, clean))
}

func orFormat(why string) string {
	if why == "" {
		return "form of a key"
	}
	return why
}

// pairOf returns the sense of a pair's value, as in {"name": "token", "value": …}; ok is false if
// the object is not a pair.
func pairOf(v scan.Value, query bool) (s sense, ok bool) {
	named, valued := false, false
	for m := range scan.Members(v.Raw) {
		name := plainName(string(m.Name))
		valued = valued || values[name]
		if !naming[name] || m.Value.Shape != scan.IsString {
			continue
		}
		if !isName(scan.KeyText(m.Value)) {
			continue
		}
		named = true
		if of := senseIn(string(scan.KeyText(m.Value)), query); of.level > s.level {
			s = of
		}
	}
	s.address, s.headers = false, false
	return s, named && valued
}

// definesAll reports whether all members of an object are objects, as those that define the
// properties of a JSON Schema are.
func definesAll(v *scan.Value) bool {
	if v.Shape != scan.IsObject {
		return false
	}
	for m := range scan.Members(v.Raw) {
		if m.Value.Shape != scan.IsObject && m.Value.Shape != scan.IsTrue && m.Value.Shape != scan.IsFalse {
			return false
		}
	}
	return true
}
