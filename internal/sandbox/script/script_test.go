package script

import "testing"

import "callhouse/internal/test"

func TestScripts(t *testing.T) {
	all, err := Load()
	test.OK(t, err)
	if len(all["en"]) < 8 || len(all["ko"]) != len(all["en"]) {
		t.Fatalf("%d English and %d Korean scenarios", len(all["en"]), len(all["ko"]))
	}
	for i, en := range all["en"] {
		ko := all["ko"][i]
		if en.Name != ko.Name || en.Direction != ko.Direction || len(en.Steps) != len(ko.Steps) || len(en.Extracts) != len(ko.Extracts) {
			t.Errorf("%s and %s differ in more than their language", en.Name, ko.Name)
		}
		for j := range en.Extracts {
			if en.Extracts[j].Name != ko.Extracts[j].Name || en.Extracts[j].Kind != ko.Extracts[j].Kind {
				t.Errorf("%s: extraction %d differs between languages", en.Name, j)
			}
		}
	}
}
