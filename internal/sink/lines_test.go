package sink

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines are read whole, in pieces of any size. After one that is too long, nothing is read.
func TestEachLine(t *testing.T) {
	giant := io.LimitReader(endless{}, maxLine+1)
	var got []string
	err := eachLine(t.Context(), "d", io.MultiReader(iotest.OneByteReader(strings.NewReader("one\n\nthree\r\n \nfive\n")), giant),
		func(n int64, line []byte) error {
			got = append(got, fmt.Sprintf("%d %s", n, line))
			return nil
		})
	if want := "1 one|3 three|5 five"; strings.Join(got, "|") != want || err == nil || !strings.Contains(err.Error(), "line 6 has") {
		t.Errorf("%q, want %q; %v", got, want, err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
