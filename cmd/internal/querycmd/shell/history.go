package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callhouse/cmd/internal/querycmd/answer"
)

// historyEntries is the number of entries kept. The file is truncated to it when it reaches twice
// that number.
const historyEntries = 2000

// History holds past input, oldest first, and appends it to a file that several shells can share:
// one JSON string per line, since statements have several lines.
type History struct {
	file    string // empty: not kept
	entries []string
}

// historyFile returns the history file in the user's state folder (XDG); "" if there is none.
func historyFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "callhouse", "query_history")
}

// OpenHistory reads the history of a file; without a name, nothing is kept. After an error the
// history is usable but not kept.
func OpenHistory(file string) (*History, error) {
	h := &History{}
	if file == "" {
		return h, nil
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return h, fmt.Errorf("save the history: %w", err)
	}
	h.file = file
	for line := range bytes.Lines(raw) {
		var entry string
		if json.Unmarshal(line, &entry) == nil && entry != "" { // skip invalid lines
			h.entries = append(h.entries, entry)
		}
	}
	if len(h.entries) < 2*historyEntries {
		return h, nil
	}
	h.entries = h.entries[len(h.entries)-historyEntries:]
	return h, answer.WriteFileMode(file, 0o600, func(w io.Writer) error { return write(w, h.entries...) })
}

func write(w io.Writer, entries ...string) error {
	for _, e := range entries {
		raw, _ := json.Marshal(e) // a string always encodes
		if _, err := w.Write(append(raw, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Add appends an entry unless it equals the last one.
func (h *History) Add(entry string) error {
	entry = strings.TrimSpace(entry)
	if n := len(h.entries); entry == "" || n > 0 && h.entries[n-1] == entry {
		return nil
	}
	h.entries = append(h.entries, entry)
	if h.file == "" {
		return nil
	}
	f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		err = errors.Join(write(f, entry), f.Close())
	}
	if err != nil {
		h.file = "" // report the error only once
		return fmt.Errorf("save the history: %w", err)
	}
	return nil
}

// Entries returns the entries, oldest first.
func (h *History) Entries() []string { return h.entries }

// entries adapts the history to the editor. New entries are added only by Add.
type entries struct{ *History }

func (l entries) Write(string) (int, error) { return len(l.entries), nil }

func (l entries) GetLine(i int) (string, error) {
	if i < 0 || i >= len(l.entries) {
		return "", fmt.Errorf("the history has no entry %d", i)
	}
	return l.entries[i], nil
}

func (l entries) Len() int { return len(l.entries) }

func (l entries) Dump() any { return l.entries }
