package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"callhouse/internal/postgres"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// maxAudited is the maximum length of a statement's text in a line.
const maxAudited = 8 << 10

// AuditLog writes a JSON line for each statement.
type AuditLog struct {
	mu     sync.Mutex
	to     io.Writer
	file   *os.File // nil: stderr
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
	f, err := scratch.OpenOutput(path, os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &AuditLog{to: f, file: f, failed: failed}, nil
}

// Write writes the line of a finished statement or request, without the values of parameters. The log
// may be nil.
func (l *AuditLog) Write(e postgres.Entry) {
	if l == nil {
		return
	}
	var none *words.Secrets
	raw, err := json.Marshal(struct {
		At          time.Time `json:"at"`
		User        string    `json:"user"`
		From        string    `json:"from"`
		Application string    `json:"application,omitempty"`
		Millis      float64   `json:"ms"`
		Rows        int64     `json:"rows"`
		Code        string    `json:"sqlstate"` // 00000: success; of a request its HTTP status
		Text        string    `json:"statement"`
	}{e.At.UTC(), e.User, e.From, e.Application, float64(e.Took.Microseconds()) / 1000, e.Rows, e.Code, none.Clip(e.Text, maxAudited)})
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.file != nil {
			_ = l.file.SetWriteDeadline(time.Now().Add(time.Second)) // of a pipe that nobody reads; files have none
		}
		_, err = l.to.Write(append([]byte(words.Directed(string(raw))), '\n')) // equal characters in JSON
	}
	if err != nil {
		l.failed(fmt.Errorf("write the audit log: %w", err))
	}
}

// Close closes the log, which may be nil.
func (l *AuditLog) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	return l.file.Close()
}
