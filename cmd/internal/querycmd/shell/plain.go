package shell

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// withoutColour lets read draw on the process's standard output without colours:
// the editor has no setting for all of them. What is bold, dim or reversed stays.
func withoutColour(read func() (string, error)) (string, error) {
	terminal := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		return read()
	}
	os.Stdout = w
	done := make(chan struct{})
	go func() {
		defer close(done)
		copyPlain(terminal, r)
	}()
	defer func() {
		os.Stdout = terminal
		_ = w.Close()
		<-done
		_ = r.Close()
	}()
	return read()
}

var styleRE = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// copyPlain copies what is drawn. A sequence that comes in two pieces waits for
// its end.
func copyPlain(to io.Writer, from io.Reader) {
	buf := make([]byte, 64<<10)
	var held []byte
	for {
		n, err := from.Read(buf)
		held = append(held, buf[:n]...)
		whole := len(held)
		if at := bytes.LastIndexByte(held, 0x1b); at >= 0 && err == nil && !ended(held[at:]) {
			whole = at
		}
		_, _ = to.Write(styleRE.ReplaceAllFunc(held[:whole], plainStyle)) // a terminal that is gone shows nothing
		held = append(held[:0], held[whole:]...)
		if err != nil {
			return
		}
	}
}

// ended reports whether a sequence that begins with the escape is whole.
func ended(seq []byte) bool {
	if len(seq) < 2 || seq[1] != '[' {
		return len(seq) > 1
	}
	return bytes.IndexFunc(seq[2:], func(r rune) bool { return r >= '@' && r <= '~' }) >= 0
}

// plainStyle leaves of a style what is no colour.
func plainStyle(seq []byte) []byte {
	params := strings.Split(string(styleRE.FindSubmatch(seq)[1]), ";")
	var kept []string
	for i := 0; i < len(params); i++ {
		switch p := params[i]; {
		case p == "38" || p == "48": // 38;5;n or 38;2;r;g;b
			i++
			if i < len(params) && params[i] == "2" {
				i += 2
			}
			i++
		case slices.Contains([]string{"", "0", "1", "2", "3", "4", "7", "22", "23", "24", "27"}, p):
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []byte("\x1b[" + strings.Join(kept, ";") + "m")
}
