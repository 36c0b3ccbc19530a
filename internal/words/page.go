package words

import (
	"fmt"
	"io"
	"strings"
)

// directions makes characters visible that change the direction of the text around them.
var directions = strings.NewReplacer(func() (pairs []string) {
	for _, span := range [][2]rune{{0x202a, 0x202e}, {0x2066, 0x2069}} {
		for r := span[0]; r <= span[1]; r++ {
			pairs = append(pairs, string(r), fmt.Sprintf(`\u%04x`, r))
		}
	}
	return pairs
}()...)

// Directed makes the characters visible that change the direction of text, as in \u202e.
func Directed(text string) string { return directions.Replace(text) }

// Page returns a writer for the output of html/template: characters that change the direction of
// text are made visible, as in \u202e. The template replaces invalid UTF-8.
func Page(to io.Writer) io.Writer { return pageWriter{to} }

type pageWriter struct{ to io.Writer }

// Write implements io.Writer.
func (w pageWriter) Write(p []byte) (int, error) {
	if _, err := directions.WriteString(w.to, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
