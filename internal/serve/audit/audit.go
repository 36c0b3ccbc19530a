// Package audit writes a line for each statement that was run: who, when, how long, how
// many rows, and whether it succeeded. It knows no protocol and no warehouse.
package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"callhouse/internal/words"
)

// most is how much of a statement's text a line holds.
const most = 8 << 10

// Entry is a statement that ended.
type Entry struct {
	At          time.Time `json:"at"`
	User        string    `json:"user"`
	From        string    `json:"from"`
	Application string    `json:"application,omitempty"`
	Millis      float64   `json:"ms"`
	Rows        int64     `json:"rows"`
	Code        string    `json:"sqlstate"` // 00000: it succeeded
	Text        string    `json:"statement"`
}

// Log writes entries, as JSON lines.
type Log struct {
	mu     sync.Mutex
	to     io.Writer
	closes io.Closer
	failed func(error)
}

// Open opens the log at a path, to go on after what is in it; - is stderr, and an empty
// path is no log. failed is told what could not be written.
func Open(path string, stderr io.Writer, failed func(error)) (*Log, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		return &Log{to: stderr, failed: failed}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &Log{to: f, closes: f, failed: failed}, nil
}

// Write writes one line. The values of parameters are not in it.
func (l *Log) Write(e Entry) {
	var none *words.Secrets
	e.Text = none.Clip(e.Text, most)
	raw, err := json.Marshal(e)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.to.Write(append([]byte(words.Directed(string(raw))), '\n')) // which are the same characters to JSON
	}
	if err != nil {
		l.failed(fmt.Errorf("write the audit log: %w", err))
	}
}

// Close closes the log. A nil log is none.
func (l *Log) Close() error {
	if l == nil || l.closes == nil {
		return nil
	}
	return l.closes.Close()
}
