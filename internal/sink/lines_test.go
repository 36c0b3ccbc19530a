package sink

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"callhouse/internal/test"
)

// TestLineReader reads lines in pieces of all sizes.
func TestLineReader(t *testing.T) {
	const text = "one\n\nthree\r\n" + "four"
	for size := 1; size <= len(text); size++ {
		r := NewLineReader(&pieces{text, size})
		var got []string
		for {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			test.OK(t, err)
			got = append(got, fmt.Sprintf("%d %s", r.Number, line))
		}
		if want := "1 one|2 |3 three\r|4 four"; strings.Join(got, "|") != want {
			t.Fatalf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
}

// pieces is a reader that returns a few bytes at a time.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// TestLineReaderPassesOverGiants gets one error for an overlong line, and continues after it.
func TestLineReaderPassesOverGiants(t *testing.T) {
	r := NewLineReader(io.MultiReader(strings.NewReader("a\n"), io.LimitReader(endless{}, maxLine+3*DumpRoom), strings.NewReader("\nb\n")))
	var got []string
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		got = append(got, fmt.Sprintf("%d %s %v", r.Number, line, err))
	}
	if want := fmt.Sprintf("1 a <nil>|2  %v|3 b <nil>", ErrLongLine); strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
