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

func TestScriptErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"direction inbound":           `line 1: want "key : value"`,
		"# a\n\n[hello]\nX hm":        `line 4: unknown kind of line "X"`,
		"[hello]\nA Hi <nobody>":      "line 2: unknown slot <nobody>",
		"[hello]\nA Hi <name":         "line 2: unknown slot <name>",
		"[hello]\nT tool {} -> {}":    "line 2: want T tool {arguments} => answer",
		"[hello]\nT tool {} => <no>.": "line 2: unknown slot <no>",
	} {
		if _, err := parseScript(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
