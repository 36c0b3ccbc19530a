package shell

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"callhouse/internal/scratch"
)

// historyEntries is how many entries are kept. The file is cut down to them when
// it has grown to twice as many.
const historyEntries = 2000

// History holds what was typed, oldest first, and keeps it in a file: a line
// for each entry, which is a JSON string, since statements have lines. Entries
// are appended, so that several shells can share the file.
type History struct {
	file    string // empty: nothing is kept
	entries []string
}

// OpenHistory reads the history that file keeps; without a name it is kept
// nowhere. On an error the history is usable, and kept nowhere.
func OpenHistory(file string) (*History, error) {
	h := &History{}
	if file == "" {
		return h, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return h, fmt.Errorf("keep the history: %w", err)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return h, fmt.Errorf("keep the history: %w", err)
	}
	defer f.Close()
	if err := h.read(f); err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	h.file = file
	if len(h.entries) >= 2*historyEntries {
		h.entries = h.entries[len(h.entries)-historyEntries:]
		return h, h.rewrite()
	}
	return h, nil
}

// read takes the lines that are entries; others, of whatever made them, are
// passed over.
func (h *History) read(r io.Reader) error {
	b := bufio.NewReader(r)
	for {
		line, err := b.ReadString('\n')
		var entry string
		if json.Unmarshal([]byte(line), &entry) == nil && entry != "" {
			h.entries = append(h.entries, entry)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// rewrite replaces the file by the entries at hand.
func (h *History) rewrite() error {
	f, tmp, err := scratch.File(h.file)
	if err != nil {
		return fmt.Errorf("shorten the history: %w", err)
	}
	for _, e := range h.entries {
		if err == nil {
			_, err = f.Write(historyLine(e))
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp.Path, h.file)
	}
	if err = errors.Join(err, tmp.Remove()); err != nil {
		return fmt.Errorf("shorten the history: %w", err)
	}
	return nil
}

// historyLine writes an entry; a string is always JSON.
func historyLine(entry string) []byte {
	raw, _ := json.Marshal(entry)
	return append(raw, '\n')
}

// Add appends an entry, but not one like the last.
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
		_, err = f.Write(historyLine(entry))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		h.file = "" // once is enough to be told
		return fmt.Errorf("keep the history: %w", err)
	}
	return nil
}

// Entries returns the entries, oldest first.
func (h *History) Entries() []string { return h.entries }

// lines is the history as the editor walks through it. It is told of new
// entries by Add alone.
type lines struct{ *History }

func (l lines) Write(string) (int, error) { return len(l.entries), nil }

func (l lines) GetLine(i int) (string, error) {
	if i < 0 || i >= len(l.entries) {
		return "", fmt.Errorf("the history has no entry %d", i)
	}
	return l.entries[i], nil
}

func (l lines) Len() int { return len(l.entries) }

func (l lines) Dump() any { return l.entries }
