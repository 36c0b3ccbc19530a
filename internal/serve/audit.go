package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"callhouse/internal/words"
)

// mostAudited is the maximum length of a statement's text in a line.
const mostAudited = 8 << 10

// AuditEntry is a finished statement.
type AuditEntry struct {
	At          time.Time `json:"at"`
	User        string    `json:"user"`
	From        string    `json:"from"`
	Application string    `json:"application,omitempty"`
	Millis      float64   `json:"ms"`
	Rows        int64     `json:"rows"`
	Code        string    `json:"sqlstate"` // 00000: success
	Text        string    `json:"statement"`
}

// AuditLog writes a JSON line for each statement.
type AuditLog struct {
	mu     sync.Mutex
	to     io.Writer
	closes io.Closer
	failed func(error)
}

// OpenAudit opens the log at a path for appending; - is stderr, an empty path no log. failed is called
// with write errors.
func OpenAudit(path string, stderr io.Writer, failed func(error)) (*AuditLog, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		return &AuditLog{to: stderr, failed: failed}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &AuditLog{to: f, closes: f, failed: failed}, nil
}

// Write writes one line, without the values of parameters.
func (l *AuditLog) Write(e AuditEntry) {
	var none *words.Secrets
	e.Text = none.Clip(e.Text, mostAudited)
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
func (l *AuditLog) Close() error {
	if l == nil || l.closes == nil {
		return nil
	}
	return l.closes.Close()
}
