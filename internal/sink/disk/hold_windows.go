package disk

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Hold is a lock on a file. Windows denies access to locked bytes even to their holder through
// another handle, so the lock is on a byte far beyond the end of the file. An open file can be
// removed only if all its handles allow that.
type Hold struct {
	path string
	made uint32 // how the file is opened
	file *os.File
}

// NewHold returns a lock on the file at path, not yet taken. Taking it makes the file.
func NewHold(path string) *Hold { return &Hold{path: path, made: windows.OPEN_ALWAYS} }

// ProbeHold is like NewHold, but does not create the file, and only reads it.
func ProbeHold(path string) *Hold { return &Hold{path: path, made: windows.OPEN_EXISTING} }

// TryLock takes the lock if nobody has it.
func (h *Hold) TryLock() (bool, error) { return h.try(windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryRLock takes the lock alongside others that do the same.
func (h *Hold) TryRLock() (bool, error) { return h.try(0) }

// lockedByte is the upper half of the offset of the locked byte.
const lockedByte = 1 << 30

func (h *Hold) try(how uint32) (bool, error) {
	if h.file == nil {
		name, err := windows.UTF16PtrFromString(h.path)
		if err != nil {
			return false, err
		}
		handle, err := windows.CreateFile(name, windows.GENERIC_READ,
			windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, h.made, windows.FILE_ATTRIBUTE_NORMAL, 0)
		if err != nil {
			return false, &fs.PathError{Op: "open", Path: h.path, Err: err}
		}
		h.file = os.NewFile(uintptr(handle), h.path)
	}
	err := windows.LockFileEx(windows.Handle(h.file.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: lockedByte})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, h.Close()
	}
	return false, errors.Join(err, h.Close())
}

// Path returns the path of the file.
func (h *Hold) Path() string { return h.path }

// Stat describes the locked file.
func (h *Hold) Stat() (fs.FileInfo, error) {
	if h.file == nil {
		return nil, os.ErrInvalid
	}
	return h.file.Stat()
}

// Unlock releases the lock, as Close does.
func (h *Hold) Unlock() error { return h.Close() }

// Close releases the lock.
func (h *Hold) Close() error {
	if h.file == nil {
		return nil
	}
	err := h.file.Close()
	h.file = nil
	return err
}
