// Package words writes external text to a terminal or a log: text from the service, a warehouse, a
// file or an argument. It makes characters visible that a terminal would obey, that hide or reverse
// text, or that would begin a line, and it masks secrets. Nothing is dropped.
//
// It is not used for machine-readable formats, which are exact.
package words

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns a text as one line: line breaks and tabs are shown as \n and \t, control and
// direction characters as in \x1b and \u202e, and invalid UTF-8 bytes as in \x9b.
func Line(s string) string { return visible(s, "") }

// Lines is Line for a text whose own line breaks and tabs are kept.
func Lines(s string) string { return visible(s, "\n\t") }

func visible(s, allowed string) string {
	from := 0 // where the text not yet in out begins
	var out strings.Builder
	var before rune
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		wrong := r == utf8.RuneError && n == 1
		if !wrong && (harmless(r) || strings.ContainsRune(allowed, r) || joins(before, r, s[i+n:])) {
			before = r
			i += n
			continue
		}
		out.WriteString(s[from:i])
		if wrong {
			fmt.Fprintf(&out, `\x%02x`, s[i])
		} else {
			out.WriteString(escape(r))
		}
		i += n
		from, before = i, 0
	}
	if from == 0 {
		return s
	}
	return out.String() + s[from:]
}

// harmless reports whether a terminal shows r unchanged.
func harmless(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r != 0x7f
	}
	// Graphic but invisible characters could make two names look the same.
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// joins reports whether r joins two characters, as in emoji and in Persian. Between ASCII
// characters it would only hide.
func joins(before, r rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	return (r == '\u200d' || r == '\u200c') && before >= utf8.RuneSelf && after >= utf8.RuneSelf && harmless(after) && after != utf8.RuneError
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < ' ':
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Error returns an error's text as one line. Joined errors are separated by semicolons, also below
// errors that wrap them; one that is joined several times is named once.
func Error(err error) string {
	all, isJoin := err.(interface{ Unwrap() []error })
	if !isJoin || err.Error() != errors.Join(all.Unwrap()...).Error() {
		text := err.Error()
		if inner := errors.Unwrap(err); inner != nil && strings.Contains(inner.Error(), "\n") {
			text = strings.Replace(text, inner.Error(), Error(inner), 1)
		}
		return Line(text)
	}
	var parts []string
	for _, one := range all.Unwrap() {
		if part := Error(one); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// Fprintf is fmt.Fprintf for a terminal. The format keeps its line breaks and tabs; the text of
// each argument is made visible on one line.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, foreign(args)...)
}

// Fprintln is fmt.Fprintln for a terminal: each argument is made visible on one line.
func Fprintln(w io.Writer, args ...any) (int, error) { return fmt.Fprintln(w, foreign(args)...) }

func foreign(args []any) []any {
	out := make([]any, len(args))
	for i, v := range args {
		switch v.(type) {
		case nil, bool, int, int64, float64: // int may be a width
			out[i] = v
		default:
			out[i] = word{v}
		}
	}
	return out
}

// word is an external argument.
type word struct{ v any }

// Format implements fmt.Formatter.
func (w word) Format(f fmt.State, verb rune) {
	if err, ok := w.v.(error); ok && (verb == 'v' || verb == 's') {
		w.v = Error(err)
	}
	_, _ = io.WriteString(f, Line(fmt.Sprintf(fmt.FormatString(f, verb), w.v))) // as fmt.Fprint
}
