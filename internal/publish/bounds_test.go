package publish

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A shortened upper bound of a text is not below it.
func TestBoundsOfTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.RuneFrom([]rune{'a', 0x7f, 'é', '\ud7ff', '\ue000', '한', '😀', utf8.MaxRune})).Draw(t, "text"))
		low, high := cut(text, boundBytes), above(text, boundBytes)
		if bytes.Compare(low, text) > 0 || bytes.Compare(high, text) < 0 || !utf8.Valid(low) || !utf8.Valid(high) {
			t.Fatalf("%q has the bounds %q and %q", text, low, high)
		}
		if len(low) > boundBytes || len(high) > boundBytes+utf8.UTFMax && bytes.ContainsFunc(text[:len(cut(text, boundBytes))], func(r rune) bool { return r != utf8.MaxRune }) {
			t.Fatalf("%q has the long bounds %q and %q", text, low, high)
		}
	})
}
