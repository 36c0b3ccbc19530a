package sqlfiles

import (
	"testing"

	"callhouse/internal/golden"
)

// docs/reference/data-dictionary.md says what the headers of the views say; with -update
// it is written anew.
func TestDictionary(t *testing.T) {
	golden.Check(t, "../docs/reference/data-dictionary.md", Dictionary())
}
