package sqlfiles

import (
	"testing"

	"callhouse/internal/golden"
)

// docs/data-dictionary.md says what the headers of the views say; with -update
// it is written anew.
func TestDictionary(t *testing.T) {
	golden.Check(t, "../docs/data-dictionary.md", Dictionary())
}
