package extractcmd

import (
	"testing"

	"callhouse/internal/words"
)

func TestQuoting(t *testing.T) {
	for word, want := range map[string][3]string{
		"/usr/bin/extract":      {"/usr/bin/extract", "/usr/bin/extract", "/usr/bin/extract"},
		"/home/an a/50%/it's":   {`'/home/an a/50%/it'\''s'`, `'/home/an a/50\%/it'\''s'`, `"/home/an a/50%%/it's"`},
		"/home/$USER/callhouse": {`'/home/$USER/callhouse'`, `'/home/$USER/callhouse'`, `"/home/$$USER/callhouse"`},
	} {
		if got := [3]string{words.Shell(word), cronQuoted(word), unitQuoted(word)}; got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
