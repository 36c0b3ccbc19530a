package question

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Names maps ids of objects to names. Several objects may share a name.
type Names map[string]string

// fold returns the form in which names are compared: people do not distinguish names that differ
// only in case, in white space or in how a letter is composed.
func fold(name string) string {
	return strings.ToLower(norm.NFC.String(strings.Join(strings.Fields(name), " ")))
}

// shortID is the minimum number of an id's letters in a label.
const shortID = 8

// Labels returns a distinct label for each object, by id: its name or, if several share the name,
// the name with the beginning of the id, as long as necessary.
func (names Names) Labels() map[string]string {
	if names == nil {
		return nil
	}
	same, taken, out := map[string][]string{}, map[string]int{}, map[string]string{}
	for id, name := range names {
		key := fold(name)
		same[key] = append(same[key], id)
		taken[key]++
		out[id] = name
	}
	for _, key := range slices.Sorted(maps.Keys(same)) {
		ids := same[key]
		if len(ids) == 1 {
			continue
		}
		longest := 0
		for _, id := range ids {
			longest = max(longest, len([]rune(id)))
		}
		for n := min(shortID, longest); n <= longest; n++ {
			made := map[string]int{}
			for _, id := range ids {
				letters := []rune(id)
				out[id] = names[id] + " (" + string(letters[:min(n, len(letters))]) + ")"
				made[fold(out[id])]++
			}
			if len(made) == len(ids) && !slices.ContainsFunc(slices.Collect(maps.Keys(made)), func(l string) bool { return taken[l] > 0 }) {
				break
			}
		}
		for _, id := range ids {
			taken[fold(out[id])]++
		}
	}
	return out
}

// like returns the ids of the objects whose name or label is text, and of those whose label contains it.
func (names Names) like(text string) (exactly, partly []string) {
	text = fold(text)
	for id, label := range names.Labels() {
		switch {
		case fold(names[id]) == text, fold(label) == text:
			exactly = append(exactly, id)
		case strings.Contains(fold(label), text):
			partly = append(partly, id)
		}
	}
	slices.Sort(exactly)
	slices.Sort(partly)
	return exactly, partly
}

// Find returns the id of the object whose whole name is text, ignoring case; empty: there is none.
// If several match, it returns an *AmbiguousError.
func (names Names) Find(what, text string) (string, error) {
	exactly, _ := names.like(text)
	return names.Only(what, text, FitsName, exactly)
}

// FindLike is Find for a text that may also be a part of the name. ids are the objects whose id begins with it.
func (names Names) FindLike(what, text string, ids []string) (string, error) {
	found, partly := names.like(text)
	fits := FitsName
	if len(found) == 0 {
		fits, found = FitsPart, partly
	}
	switch {
	case len(found) == 0:
		fits = FitsID
	case len(ids) > 0:
		fits = FitsIDOrName
	}
	return names.Only(what, text, fits, slices.Compact(slices.Sorted(slices.Values(append(found, ids...)))))
}

// Only returns the only id in ids; empty: there is none. If there are several, it returns an *AmbiguousError.
func (names Names) Only(what, text string, fits Fit, ids []string) (string, error) {
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
		return ids[0], nil
	}
	for i, id := range ids {
		if name, ok := names[id]; ok {
			ids[i] = name + ": " + id
		}
	}
	return "", &AmbiguousError{What: what, Text: text, Fits: fits, IDs: ids}
}
