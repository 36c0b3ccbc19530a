package querycmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/format"
	"callhouse/internal/words"
)

// write writes rows in the format asked for, to stdout or to --output.
func (a *app) write(ctx context.Context, src format.Source, loc *time.Location) (format.Result, error) {
	return a.writeUnder(ctx, "", src, loc)
}

// writeUnder is write with a heading, in formats that people read.
func (a *app) writeUnder(ctx context.Context, heading string, src format.Source, loc *time.Location) (format.Result, error) {
	f, err := a.outputFormat()
	if err != nil {
		return format.Result{}, err
	}
	return a.deliver(func(w io.Writer) (format.Result, error) {
		o := a.drawing(loc)
		o.Heading = heading
		return format.Write(ctx, w, f, src, o)
	})
}

// deliver lets fill write an answer to stdout or to --output.
func (a *app) deliver(fill func(io.Writer) (format.Result, error)) (r format.Result, err error) {
	if a.output == "" {
		r, err = fill(a.stdout)
	} else {
		err = a.writeFile(a.output, func(w io.Writer) error {
			r, err = fill(w)
			return err
		})
	}
	a.wrote(r)
	return r, err
}

// width returns the width of the terminal that stdout is; 0 for none.
func (a *app) width() int {
	if a.shared != nil {
		return a.shared.width
	}
	return terminalWidth(a.stdout)
}

// terminalWidth returns the width of the terminal that w is; 0 for none.
func terminalWidth(w io.Writer) int {
	if !cli.CanDraw(w) {
		return 0
	}
	width, _, err := term.GetSize(int(cli.File(w).Fd()))
	if err != nil || width < 20 {
		return 80
	}
	return width
}

// writeFile makes the file at path of what fill writes: under another name
// first, so that path never holds half of it. A path that is no regular file,
// as /dev/null, is written to as it is.
func (a *app) writeFile(path string, fill func(io.Writer) error) error {
	return writeFileMode(path, a.fileMode(path), fill)
}

// fileMode is the mode of a file with data: that of the one that is there, or
// readable by its owner alone, since answers tell about a company.
func (a *app) fileMode(path string) os.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	if a.GroupReadable {
		return 0o640
	}
	return 0o600
}

// folderMode is fileMode for a folder.
func (a *app) folderMode(path string) os.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	if a.GroupReadable {
		return 0o750
	}
	return 0o700
}

// writeFileMode is writeFile for a file of another mode.
func writeFileMode(path string, mode os.FileMode, fill func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return writeDevice(path, fill)
	} else if err == nil && info.IsDir() {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("write %s: it is a folder", path), "--output names a file")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return unwritable(path, err)
	}
	err = fill(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(unwritable(path, err), os.Remove(f.Name()))
	}
	return nil
}

func writeDevice(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return unwritable(path, err)
	}
	w := bufio.NewWriter(f)
	return errors.Join(fill(w), w.Flush(), f.Close())
}

// unwritable says so of errors of the file system, and passes on others.
func unwritable(path string, err error) error {
	var p *os.PathError
	if !errors.As(err, &p) {
		return err
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("write %s: %w", path, p.Err), "--output names a file in a folder that can be written to")
}

// notes tells on stderr what a table does not show.
func (a *app) notes(r format.Result) {
	for _, n := range r.Notes {
		words.Fprintln(a.stderr, n)
	}
}
