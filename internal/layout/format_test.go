package layout

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/test"
)

// The specification names every member of the manifest.
func TestFormatNamesTheManifest(t *testing.T) {
	spec := test.Read(t, "FORMAT.md")
	code := ""
	for i, part := range strings.Split(string(spec), "`") {
		if i%2 == 1 {
			code += part + "\n"
		}
	}
	var look func(of reflect.Type)
	seen := 0
	look = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			look(of.Elem())
		case reflect.Struct:
			for f := range of.Fields() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" {
					continue
				}
				seen++
				if !regexp.MustCompile(`\b` + name + `\b`).MatchString(code) {
					t.Errorf("FORMAT.md does not name %s, of a %s", name, of.Name())
				}
				if f.Type != reflect.MapOf(reflect.TypeFor[string](), of) { // a list of lists
					look(f.Type)
				}
			}
		}
	}
	look(reflect.TypeFor[Manifest]())
	if seen < 30 {
		t.Errorf("only %d members were looked at", seen)
	}
}
