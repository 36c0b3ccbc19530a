package layout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/sourcegraph/conc/pool"
)

// ErrNoWarehouse is returned for a folder without snapshots.
var ErrNoWarehouse = errors.New("no warehouse yet")

// DamageError means that a file of the warehouse no longer holds the data that was durably written
// to it.
type DamageError struct {
	Path string
	What string
}

func (e *DamageError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.Path, e.What) }

// Hint returns advice for the operator.
func (e *DamageError) Hint() string {
	return "nothing was changed; extract repair replaces damaged files and fetches their calls again; or restore the file from a backup"
}

// Inside shortens the warehouse's paths in a text, such as an error, so that they begin at its
// root. Only the operator needs to know its location.
func Inside(root, text string) string {
	if root == "" {
		return text
	}
	for _, find := range []func(string) (string, error){filepath.EvalSymlinks, filepath.Abs} { // Abs also cleans the path
		path, err := find(root)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err == nil && path != string(filepath.Separator) {
			text = strings.ReplaceAll(text, path+string(filepath.Separator), "")
			text = regexp.MustCompile(regexp.QuoteMeta(path)+`($|[^\w.-])`).ReplaceAllString(text, "the warehouse$1")
		}
	}
	return text
}

// CurrentError means that snapshots exist, but the link current does not lead to any of them.
type CurrentError struct {
	Root string
	What string // the fault of the link
	// Newest is the newest complete snapshot: its manifest is intact, and all its files exist with
	// the right size. 0 if there is none.
	Newest  int64
	Missing bool // the link does not exist
	Only    bool // there is no other snapshot
}

// FirstCommit reports whether a crash during the very first commit explains the error: one complete
// snapshot that never became current.
func (e *CurrentError) FirstCommit() bool { return e.Missing && e.Only && e.Newest == 1 }

func (e *CurrentError) Error() string {
	return fmt.Sprintf("%s contains snapshots, but the link %q %s", e.Root, CurrentName, e.What)
}

// Hint returns advice for the operator.
func (e *CurrentError) Hint() string {
	if e.FirstCommit() {
		return "the first commit was interrupted, or the link was removed: extract run makes snapshot 1, the only one, current"
	}
	if e.Newest == 0 {
		return "no snapshot is complete: restore the warehouse from a backup; nothing was changed"
	}
	return fmt.Sprintf("nothing was changed; extract rollback --to %d makes snapshot %d, the newest complete one, current",
		e.Newest, e.Newest)
}

// Snapshot is one committed state of a warehouse.
type Snapshot struct {
	// Dir is the snapshot's own folder. Its last element is not a link, so everything read below it
	// comes from one commit.
	Dir      string
	Manifest *Manifest
}

// Root returns the folder of the snapshot's warehouse.
func (s *Snapshot) Root() string { return filepath.Dir(filepath.Dir(s.Dir)) }

// Path returns the path of a file of the snapshot.
func (s *Snapshot) Path(f *File) string { return filepath.Join(s.Dir, filepath.FromSlash(f.Path)) }

// Files is the file system access needed to find a snapshot. Names are paths that begin with the
// warehouse's root.
type Files interface {
	Readlink(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	ReadFile(name string) ([]byte, error)
	Lstat(name string) (fs.FileInfo, error)
}

// Current resolves the link current of the warehouse at root, once, and reads the manifest of that
// snapshot. It returns ErrNoWarehouse if there is no snapshot, a *CurrentError if there are
// snapshots but the link leads to none, a *RootError, a *DamageError or a *VersionError.
func Current(root string) (*Snapshot, error) {
	if err := CheckRoot(root); err != nil {
		return nil, err
	}
	d, err := OpenDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", root, ErrNoWarehouse)
	}
	if err != nil {
		return nil, fmt.Errorf("open the warehouse: %w", err)
	}
	defer d.Close()
	return FindCurrent(d, root)
}

// FindCurrent is Current on a file system.
func FindCurrent(files Files, root string) (*Snapshot, error) {
	link := filepath.Join(root, CurrentName)
	target, err := files.Readlink(link)
	switch info, statErr := files.Lstat(link); {
	case err == nil:
	case errors.Is(statErr, fs.ErrNotExist):
		return nil, lost(files, root, missing)
	case statErr == nil && info.Mode()&fs.ModeSymlink == 0:
		return nil, lost(files, root, "is not a link (move it away)")
	default:
		return nil, fmt.Errorf("resolve the current snapshot: %w", err)
	}
	name := filepath.Base(target)
	n, ok := ParseSnapshotName(name)
	if !ok || filepath.ToSlash(target) != SnapshotsName+"/"+name {
		return nil, lost(files, root, fmt.Sprintf("points at %q, which is not a snapshot", target))
	}
	s, err := OpenSnapshot(files, root, n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, lost(files, root, fmt.Sprintf("points at snapshot %s, which does not exist", name))
	}
	return s, err
}

const missing = "is missing"

// lost describes the fault of the link current in a warehouse with snapshots.
func lost(files Files, root, what string) error {
	numbers, err := SnapshotNumbers(files, root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(numbers) == 0 {
		return fmt.Errorf("%s: %w", root, ErrNoWarehouse)
	}
	e := &CurrentError{Root: root, What: what, Missing: what == missing, Only: len(numbers) == 1}
	if s := NewestComplete(files, root, numbers); s != nil {
		e.Newest = s.Manifest.Snapshot
	}
	return e
}

// NewestComplete returns the last of some snapshots with an intact manifest and all its files; nil if
// there is none.
func NewestComplete(files Files, root string, numbers []int64) *Snapshot {
	for _, n := range slices.Backward(numbers) {
		if s, err := OpenSnapshot(files, root, n); err == nil && Complete(files, s) == nil {
			return s
		}
	}
	return nil
}

// SnapshotNumbers lists the snapshots' folders, lowest number first.
func SnapshotNumbers(files Files, root string) ([]int64, error) {
	entries, err := files.ReadDir(filepath.Join(root, SnapshotsName))
	if err != nil {
		return nil, fmt.Errorf("list the snapshots: %w", err)
	}
	var out []int64
	for _, e := range entries {
		if n, ok := ParseSnapshotName(e.Name()); ok {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// OpenSnapshot reads a snapshot's manifest. One that contradicts itself or its folder's name is
// damage. The error wraps fs.ErrNotExist if the snapshot does not exist or is being removed.
func OpenSnapshot(files Files, root string, n int64) (*Snapshot, error) {
	name := SnapshotName(n)
	dir := filepath.Join(root, SnapshotsName, name)
	if info, err := files.Lstat(dir); err == nil && !info.IsDir() {
		return nil, &DamageError{Path: dir, What: "it is not a folder"}
	}
	path := filepath.Join(dir, ManifestName)
	raw, err := files.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of snapshot %s: %w", name, err)
	}
	m, err := ParseManifest(raw)
	if err == nil {
		if wrong := m.Contradictions(n); len(wrong) > 0 {
			err = errors.New(wrong[0])
		}
	}
	var version *VersionError
	if err != nil && !errors.As(err, &version) {
		return nil, &DamageError{Path: path, What: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	return &Snapshot{Dir: dir, Manifest: m}, nil
}

// Complete checks that a snapshot's files exist as regular files of the right size. It does not
// read them.
func Complete(files Files, s *Snapshot) error {
	for i := range s.Manifest.Files {
		if err := s.check(files.Lstat, s.Manifest.Files[i].Path, s.Manifest.Files[i].Bytes); err != nil {
			return err
		}
	}
	if f := s.Manifest.Forgotten; f != nil {
		return s.check(files.Lstat, f.Path, f.Bytes)
	}
	return nil
}

// Present is Complete for the files of one table.
func (s *Snapshot) Present(table string) error {
	for _, f := range s.Manifest.FilesOf(table) {
		if err := s.check(os.Lstat, f.Path, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) check(lstat func(string) (fs.FileInfo, error), path string, size int64) error {
	full := filepath.Join(s.Dir, filepath.FromSlash(path))
	info, err := lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return &DamageError{Path: full, What: "it is not there"}
	}
	if err != nil {
		return err
	}
	return CheckInfo(full, info, size)
}

// CheckInfo describes the fault of a file that should have size bytes, if any.
func CheckInfo(path string, info fs.FileInfo, size int64) error {
	switch {
	case !info.Mode().IsRegular():
		return &DamageError{Path: path, What: "it is not a regular file"}
	case info.Size() != size:
		return &DamageError{Path: path, What: fmt.Sprintf("it has %d bytes, the manifest says %d", info.Size(), size)}
	}
	return nil
}

// VerifyChecksums compares some of a snapshot's files with their checksums in the manifest.
func (s *Snapshot) VerifyChecksums(ctx context.Context, files []*File) error {
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
			return errors.Join(VerifyChecksum(file, s.Path(f), f), file.Close())
		})
	}
	return work.Wait()
}

// VerifyChecksum reads an open data file completely and compares it with the checksum in the manifest. It
// returns a *DamageError if they differ.
func VerifyChecksum(file interface {
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
