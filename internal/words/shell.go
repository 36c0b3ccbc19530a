package words

import (
	"strings"
	"unicode"
)

const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:=@"

// Shell quotes a word for a shell, if necessary.
func Shell(word string) string {
	if word != "" && strings.Trim(word, plainInShell) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Fields splits a line at spaces, as shells do; quotes hold words together.
func Fields(line string) (out []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			out = append(out, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case quote == 0 && unicode.IsSpace(r):
			end()
			continue
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		default:
			word.WriteRune(r)
		}
		begun = true
	}
	end()
	return out
}
