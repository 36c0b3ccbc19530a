package words

import (
	"testing"

	"callhouse/internal/test"
)

func TestShell(t *testing.T) {
	for in, want := range map[string]string{"0a7e": "0a7e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "가": "'가'", "$x": "'$x'", "50%": "'50%'"} {
		test.Same(t, want, Shell(in), "Shell(%q)", in)
	}
}
