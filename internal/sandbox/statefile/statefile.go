// Package statefile stores the changes of a sandbox in a file, so that the next one continues from
// there. It does not interpret the lines.
//
// The first line is the head: the format version, and settings that the next sandbox must share.
// Every other line is one change, on disk before [File.Append] returns. An unterminated last line
// was cut off by a crash and never acknowledged, so it is dropped.
package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"
)

// version is the format version in the head.
const version = 1

// begin is the beginning of every head.
const begin = `{"sandbox_state":`

type head struct {
	Version  int               `json:"sandbox_state"`
	Settings map[string]string `json:"settings"`
}

// File is an open state. It is safe for concurrent use.
type File struct {
	Settings map[string]string // of the head; nil for a new file
	Lines    [][]byte          // the changes before it was opened
	Cut      bool              // a last line was dropped

	mu     sync.Mutex
	file   *os.File
	lock   *flock.Flock
	failed error // the first write error, after which the end of the file is unknown
}

// ErrInUse reports that another sandbox has the file open.
var ErrInUse = errors.New("another sandbox is using it")

// Open opens or creates a state.
func Open(name string) (*File, error) {
	f := &File{lock: flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR))}
	if ok, err := f.lock.TryLock(); err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	} else if !ok {
		return nil, fmt.Errorf("open state %s: %w", name, ErrInUse)
	}
	if err := f.read(name); err != nil {
		return nil, errors.Join(fmt.Errorf("open state %s: %w", name, err), f.Close())
	}
	return f, nil
}

func (f *File) read(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if f.Cut = len(whole) < len(text); len(whole) == 0 {
		if !strings.HasPrefix(begin, string(text)) && !bytes.HasPrefix(text, []byte(begin)) {
			return errors.New("not a state file of sandbox")
		}
		f.Cut = false // not even its head was written
	} else if err := f.parse(whole); err != nil {
		return err
	}
	if f.file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	if len(whole) == len(text) {
		return nil
	}
	return f.file.Truncate(int64(len(whole)))
}

func (f *File) parse(text []byte) error {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	var h head
	if err := json.Unmarshal(first, &h); err != nil || !bytes.HasPrefix(first, []byte(begin)) {
		return errors.New("not a state file of sandbox")
	}
	if h.Version > version {
		return fmt.Errorf("written by a later version of sandbox (format %d, supported: %d)", h.Version, version)
	}
	if f.Settings = h.Settings; f.Settings == nil {
		f.Settings = map[string]string{}
	}
	for line := range bytes.Lines(rest) {
		f.Lines = append(f.Lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return nil
}

// Begin writes the head of a new file.
func (f *File) Begin(settings map[string]string) error {
	line, err := json.Marshal(head{version, settings})
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := f.Append(line); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(f.file.Name()))
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	err = folder.Sync() // its name must be on disk, too
	if err := errors.Join(err, folder.Close()); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// Append adds a line without a line break. After an error it always fails.
func (f *File) Append(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		_, err := f.file.Write(append(line[:len(line):len(line)], '\n'))
		if err == nil {
			err = f.file.Sync()
		}
		if err != nil {
			f.failed = fmt.Errorf("write state: %w", err)
		}
	}
	return f.failed
}

// Close closes the file and releases its lock.
func (f *File) Close() error {
	err := f.lock.Unlock()
	if f.file != nil {
		err = errors.Join(err, f.file.Close())
	}
	return err
}
