package querycmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"callhouse/cmd/internal/config"
	"callhouse/internal/test"
)

// Where an export's folder cannot be exchanged, its files are: the old ones go, and those of others
// stay.
func TestRefill(t *testing.T) {
	made, target := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(target, exportName, `{"export_version": 1, "files": [{"path": "calls.csv"}, {"path": "dropped.csv"}, {"path": "removed.csv"}]}`)
	for _, name := range []string{"calls.csv", "dropped.csv", "letter.txt"} {
		write(target, name, "old")
	}
	write(made, exportName, `{"export_version": 1, "files": [{"path": "calls.csv"}, {"path": "more.csv"}]}`)
	write(made, "calls.csv", "new")
	write(made, "more.csv", "new")
	test.OK(t, refill(made, target))
	entries, err := os.ReadDir(target)
	test.OK(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	raw, err := os.ReadFile(filepath.Join(target, "calls.csv"))
	if want := []string{"calls.csv", "letter.txt", exportName, "more.csv"}; !slices.Equal(names, want) || string(raw) != "new" || err != nil {
		t.Errorf("there are %v, want %v; calls.csv is %q, %v", names, want, raw, err)
	}
	if left, err := os.ReadDir(made); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if name := foreign(target, entries); name != "letter.txt" {
		t.Errorf("foreign is %q", name)
	}
}

// Every setting of query is a flag with the same name and default, and can be set in the file.
func TestEverySettingIsAFlag(t *testing.T) {
	root := Command()
	for i := range config.Keys {
		k := &config.Keys[i]
		if k.For&config.Query == 0 {
			continue
		}
		f := root.PersistentFlags().Lookup(k.Flag())
		for _, cmd := range root.Commands() { // or a flag of one command
			if f == nil {
				f = cmd.Flags().Lookup(k.Flag())
			}
		}
		if f == nil || f.DefValue != k.Default || f.Annotations == nil {
			t.Errorf("%s: flag %+v", k.Name, f)
		}
	}
}
