package words

import "testing"

func TestShell(t *testing.T) {
	for in, want := range map[string]string{"0a7e": "0a7e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "가": "'가'", "$x": "'$x'", "50%": "'50%'"} {
		if got := Shell(in); got != want {
			t.Errorf("Shell(%q) = %s, want %s", in, got, want)
		}
	}
}
