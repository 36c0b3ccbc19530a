package shell

import (
	"bytes"
	"io"
	"os"
	"regexp"

	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"

	"callhouse/internal/words"
)

// editor reads multi-line input from the terminal of the process. It honours ~/.inputrc.
type editor struct {
	rl     *readline.Shell
	colour bool
}

// reserve ensures a row below the cursor, which the editor clears: one row down, scrolling at the
// bottom of the screen, and up again.
const reserve = "\x1bD\x1bM"

// newEditor returns an editor, which draws nothing before the first read.
func newEditor(v *Vocabulary, h *History) *editor {
	e := &editor{readline.NewShell(), os.Getenv("NO_COLOR") == ""}
	rl := e.rl
	rl.Prompt.Primary(func() string {
		// Asking the terminal for the cursor position takes a round trip per key, and a key read
		// together with the answer is lost (fixed after v1.3.0 of the library: its pull request
		// 118). So it is asked only when a list needs room.
		_ = rl.Config.Set("cursor-position-probe", rl.Keymap.Local() != "")
		return "query> "
	})
	rl.SyntaxHighlighter = func(line []rune) string { return string(line) + reserve }
	settings := map[string]any{
		"convert-meta":                 false, // non-ASCII letters are letters
		"enable-bracketed-paste":       true,  // pasted text waits for Enter
		"menu-complete-display-prefix": true,  // the first Tab lists, the next one chooses
		"completion-ignore-case":       true,
		"multiline-column":             true,
		"autopairs":                    false,
		"echo-control-characters":      false, // ^C would be drawn over the input
	}
	if e.colour {
		settings["completion-description-style"] = `\e[2m`
	} else {
		settings["completion-selection-style"] = `\e[7m`
	}
	for name, v := range settings {
		_ = rl.Config.Set(name, v) // an unknown name would have no effect
	}
	for _, keymap := range []string{"emacs", "emacs-standard", "vi-insert"} {
		_ = rl.Config.Bind(keymap, inputrc.Unescape(`\t`), "menu-complete", false)
	}
	rl.AcceptMultiline = func(line []rune) bool { return whole(string(line)) }
	rl.History.Add("history", entries{h})
	rl.Completer = func(line []rune, cursor int) readline.Completions {
		word, candidates := v.Complete(line, cursor)
		values := make([]readline.Completion, len(candidates))
		for i, c := range candidates {
			values[i] = readline.Completion{Value: c.Before + c.Text, Display: words.Line(c.Text), Description: words.Line(c.Says), Tag: c.Group}
		}
		out := readline.CompleteRaw(values).NoSort()
		out.PREFIX = word
		return out
	}
	return e
}

// read returns the next input; errInterrupted after Ctrl-C, io.EOF after Ctrl-D.
func (e *editor) read() (text string, err error) {
	if e.colour {
		text, err = e.rl.Readline()
	} else {
		text, err = withoutColour(e.rl.Readline)
	}
	if err != nil && err.Error() == os.Interrupt.String() {
		return "", errInterrupted
	}
	return text, err
}

// withoutColour runs read without colours, for which the editor has no setting. Bold, dim and
// reversed text stays.
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

var (
	colourRE = regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?(?:[349][0-9]|10[0-7])(?:;[0-9;]*)?m`)
	beginsRE = regexp.MustCompile(`\x1b(?:\[[0-9;]*)?$`)
)

// copyPlain copies the output without colours. A split escape sequence waits for its end.
func copyPlain(to io.Writer, from io.Reader) {
	buf := make([]byte, 64<<10)
	var held []byte
	for {
		n, err := from.Read(buf)
		held = append(held, buf[:n]...)
		end := len(held)
		if at := beginsRE.FindIndex(held); at != nil && err == nil {
			end = at[0]
		}
		_, _ = to.Write(colourRE.ReplaceAll(held[:end], nil)) // fails only if the terminal is gone
		held = bytes.Clone(held[end:])
		if err != nil {
			return
		}
	}
}
