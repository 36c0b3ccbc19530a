package shell

import (
	"errors"
	"os"

	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"

	"callhouse/internal/words"
)

// ErrInterrupted says that Ctrl-C dropped what was typed.
var ErrInterrupted = errors.New("interrupted")

// Editor reads inputs of one or more lines from the terminal that is the
// process's standard input and output. ~/.inputrc counts.
type Editor struct {
	rl     *readline.Shell
	colour bool
}

// EditorConfig says how an editor works.
type EditorConfig struct {
	Prompt string
	// Whole reports whether what is typed can be run: otherwise Enter begins a
	// new line.
	Whole func(text string) bool
	// Complete returns what the word before the cursor may become. The cursor
	// is a place in the runes of text.
	Complete func(text []rune, cursor int) (word string, candidates []Candidate)
	History  *History
	Colour   bool
}

// reserve makes sure that there is a row below the cursor, which the editor
// clears: down one row, which scrolls at the bottom of the screen, and up again.
const reserve = "\x1bD\x1bM"

// NewEditor returns an editor. It draws nothing before Read.
func NewEditor(c EditorConfig) *Editor {
	rl := readline.NewShell()
	rl.Prompt.Primary(func() string {
		// Asking the terminal where the cursor is takes a round trip for each key,
		// and a key that comes in one read with the answer is lost (after v1.3.0 of
		// the library it is not: its pull request 118). So it is asked only where a
		// list has to find its room.
		_ = rl.Config.Set("cursor-position-probe", rl.Keymap.Local() != "")
		return c.Prompt
	})
	rl.SyntaxHighlighter = func(line []rune) string { return string(line) + reserve }
	settings := map[string]any{
		"convert-meta":                 false, // letters beyond ASCII are letters
		"enable-bracketed-paste":       true,  // a pasted text waits for Enter
		"menu-complete-display-prefix": true,  // Tab shows what there is, the next one chooses
		"completion-ignore-case":       true,
		"multiline-column":             true,
		"autopairs":                    false,
		"echo-control-characters":      false, // ^C would be drawn over what is typed
	}
	if c.Colour {
		settings["completion-description-style"] = `\e[2m`
	} else {
		settings["completion-selection-style"] = `\e[7m`
	}
	for name, v := range settings {
		_ = rl.Config.Set(name, v) // a name that is not known would do nothing
	}
	for _, keymap := range []string{"emacs", "emacs-standard", "vi-insert"} {
		_ = rl.Config.Bind(keymap, inputrc.Unescape(`\t`), "menu-complete", false)
	}
	rl.AcceptMultiline = func(line []rune) bool { return c.Whole(string(line)) }
	rl.History.Add("history", lines{c.History})
	rl.Completer = func(line []rune, cursor int) readline.Completions {
		word, candidates := c.Complete(line, cursor)
		return completions(word, candidates)
	}
	return &Editor{rl: rl, colour: c.Colour}
}

// Read returns the next input; ErrInterrupted after Ctrl-C, io.EOF after Ctrl-D.
func (e *Editor) Read() (string, error) {
	read := e.rl.Readline
	if !e.colour {
		read = func() (string, error) { return withoutColour(e.rl.Readline) }
	}
	text, err := read()
	if err != nil && err.Error() == os.Interrupt.String() {
		return "", ErrInterrupted
	}
	return text, err
}

// completions says the same in the editor's words.
func completions(word string, candidates []Candidate) readline.Completions {
	values := make([]readline.Completion, len(candidates))
	for i, c := range candidates {
		values[i] = readline.Completion{Value: c.Before + c.Text, Display: words.Line(c.Text), Description: words.Line(c.Says), Tag: c.Group}
	}
	out := readline.CompleteRaw(values).NoSort()
	out.PREFIX = word
	return out
}
