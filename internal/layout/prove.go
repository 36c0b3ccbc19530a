package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
)

// Prove reads an open data file completely and compares it with the checksum in the manifest. It
// returns a *DamageError if they differ.
func Prove(file interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}, path string, f *File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open a data file: %w", err)
	}
	if err := CheckInfo(path, info, f.Bytes); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, info.Size())); err != nil {
		return &DamageError{Path: path, What: err.Error()}
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return &DamageError{Path: path, What: "its checksum is not the one in the manifest"}
	}
	return nil
}
