package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/term"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/format"
	"callhouse/internal/scratch"
	"callhouse/internal/words"
)

// Write writes rows in the requested format to stdout or --output.
func (c *Command) Write(ctx context.Context, src format.Source, loc *time.Location) (format.Result, error) {
	return c.WriteAs(ctx, src, c.Drawing(loc))
}

// WriteAs is Write with other options.
func (c *Command) WriteAs(ctx context.Context, src format.Source, o format.Options) (format.Result, error) {
	f, err := c.OutputFormat()
	if err != nil {
		return format.Result{}, err
	}
	return c.Deliver(func(w io.Writer) (format.Result, error) {
		return format.Write(ctx, w, f, src, o)
	})
}

// Deliver calls fill with stdout or --output.
func (c *Command) Deliver(fill func(io.Writer) (format.Result, error)) (r format.Result, err error) {
	if c.Output == "" {
		r, err = fill(c.Stdout)
	} else {
		err = c.WriteFile(c.Output, func(w io.Writer) error {
			r, err = fill(w)
			return err
		})
	}
	return r, err
}

// Width returns the width of the terminal on stdout; 0 if it is not a terminal.
func (c *Command) Width() int {
	return cmp.Or(c.Columns, TerminalWidth(c.Stdout))
}

// TerminalWidth returns the width of the terminal w; 0 if it is not a terminal.
func TerminalWidth(w io.Writer) int {
	if !cli.CanDraw(w) {
		return 0
	}
	width, _, err := term.GetSize(int(cli.File(w).Fd()))
	if err != nil || width < 20 {
		return 80
	}
	return width
}

// WriteFile writes a file under a temporary name first, so that path is never incomplete. A path
// that is not a regular file, such as /dev/null, is written directly.
func (c *Command) WriteFile(path string, fill func(io.Writer) error) error {
	return WriteFileMode(path, c.FileMode(path), fill)
}

// FileMode returns the mode of a file with data: that of the existing file, or readable by its
// owner only, since answers are private.
func (c *Command) FileMode(path string) os.FileMode { return mode(path, 0o600) }

// FolderMode is FileMode for a folder.
func (c *Command) FolderMode(path string) os.FileMode { return mode(path, 0o700) }

func mode(path string, own os.FileMode) os.FileMode {
	if info, err := os.Stat(path); err == nil && scratch.UserOf(info) == os.Geteuid() {
		return info.Mode().Perm()
	}
	return own
}

// WriteFileMode is WriteFile with another mode.
func WriteFileMode(path string, mode os.FileMode, fill func(io.Writer) error) error {
	direct, err := scratch.Output(path)
	if err != nil {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("write %s: %w", path, err), "--output must name a new file, or one of your own")
	}
	if direct {
		f, err := scratch.OpenOutput(path, 0)
		if err != nil {
			return Unwritable(path, err)
		}
		return errors.Join(fill(f), f.Close())
	}
	f, tmp, err := scratch.File(path)
	if err != nil {
		return Unwritable(path, err)
	}
	if err = cmp.Or(fill(f), f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp.Path, path)
	}
	return errors.Join(Unwritable(path, err), tmp.Remove())
}

// Unwritable explains file system errors and returns others unchanged.
func Unwritable(path string, err error) error {
	var p *os.PathError
	if !errors.As(err, &p) {
		return err
	}
	hint := "it must be in a folder that exists and is writable"
	if errors.Is(err, syscall.ENXIO) {
		hint = "start the reader of the named pipe first"
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "free some space, or write to another disk"
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("write %s: %w", path, p.Err), hint)
}

// Notes prints on stderr what a table omits.
func (c *Command) Notes(r format.Result) {
	for _, n := range r.Notes {
		words.Fprintln(c.Stderr, n)
	}
}
