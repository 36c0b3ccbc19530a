// Package audit writes a line for each statement: user, time, duration, rows and result. It does
// not depend on the protocol or the warehouse.
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

// most is the maximum length of a statement's text in a line.
const most = 8 << 10

// Entry is a finished statement.
type Entry struct {
	At          time.Time `json:"at"`
	User        string    `json:"user"`
	From        string    `json:"from"`
	Application string    `json:"application,omitempty"`
	Millis      float64   `json:"ms"`
	Rows        int64     `json:"rows"`
	Code        string    `json:"sqlstate"` // 00000: success
	Text        string    `json:"statement"`
}

// Log writes entries as JSON lines.
type Log struct {
	mu     sync.Mutex
	to     io.Writer
	closes io.Closer
	failed func(error)
}

// Open opens the log at a path for appending; - is stderr, an empty path no log. failed is called
// with write errors.
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

// Write writes one line, without the values of parameters.
func (l *Log) Write(e Entry) {
	var none *words.Secrets
	e.Text = none.Clip(e.Text, most)
	raw, err := json.Marshal(e)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.to.Write(append([]byte(words.Directed(string(raw))), '\n')) // equal characters in JSON
	}
	if err != nil {
		l.failed(fmt.Errorf("write the audit log: %w", err))
	}
}

// Close closes the log, which may be nil.
func (l *Log) Close() error {
	if l == nil || l.closes == nil {
		return nil
	}
	return l.closes.Close()
}
