package layout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"

	"github.com/sourcegraph/conc/pool"
)

// Prove compares some of a snapshot's files with their checksums in the manifest.
func (s *Snapshot) Prove(ctx context.Context, files []*File) error {
	d, err := OpenDir(s.Root())
	if err != nil {
		return fmt.Errorf("open the warehouse: %w", err)
	}
	defer d.Close()
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	for _, f := range files {
		work.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			file, err := d.Open(s.Path(f))
			if errors.Is(err, fs.ErrNotExist) {
				return &DamageError{Path: s.Path(f), What: "it is not there"}
			}
			if err != nil {
				return err
			}
			return errors.Join(Prove(file, s.Path(f), f), file.Close())
		})
	}
	return work.Wait()
}

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
