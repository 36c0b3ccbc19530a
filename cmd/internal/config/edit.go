package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Pair is a key of the file and its value, in the form of its flag.
type Pair struct{ Name, Value string }

// Edit returns the text of a configuration file with some keys of its top level set. Everything
// else, comments included, stays as it is.
func (e Environment) Edit(path, text string, set []Pair) (string, error) {
	f, err := e.parse(path, []byte(text))
	if err != nil {
		return "", err
	}
	lines := slices.Collect(strings.Lines(text))
	end := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "[") })
	if end < 0 {
		end = len(lines)
	}
	var added []string
	want := maps.Clone(f.top)
	for _, p := range set {
		k := keyOf(p.Name)
		line := fmt.Sprintf("%s = %s\n", k.Name, k.literal(p.Value))
		if old, ok := f.top[k.Name]; ok {
			if old.text != p.Value {
				lines[old.line-1] = line
			}
		} else {
			added = append(added, line)
		}
		want[k.Name] = value{text: p.Value}
	}
	if end > 0 && len(added) > 0 && !strings.HasSuffix(lines[end-1], "\n") {
		lines[end-1] += "\n"
	}
	out := strings.Join(slices.Insert(lines, end, added...), "")
	made, err := e.parse(path, []byte(out))
	if err != nil || !maps.EqualFunc(made.top, want, sameText) ||
		!maps.EqualFunc(made.profiles, f.profiles, func(a, b table) bool { return maps.EqualFunc(a, b, sameText) }) {
		return "", errors.Join(f.wrong(0, "edit the file by hand: extract config --example prints all keys",
			"it cannot be changed automatically"), err)
	}
	return out, nil
}

func sameText(a, b value) bool { return a.text == b.text }
