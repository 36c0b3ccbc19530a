package sqlfiles

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the data dictionary")

// docs/data-dictionary.md says what the headers of the views say.
func TestDictionary(t *testing.T) {
	const path = "../docs/data-dictionary.md"
	got := Dictionary()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s is out of date: go test ./sql -update (-file +headers):\n%s", path, d)
	}
}
