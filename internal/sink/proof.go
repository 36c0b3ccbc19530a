package sink

import (
	"fmt"
	"sync"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// proofs compares data files with the checksums in the manifest before what they
// hold is believed, and remembers which it has compared: files never change
// under their names. Without it (nil) files are read as they are.
type proofs struct {
	mu   sync.Mutex
	done map[proof]bool
}

// proof is a file that was compared. The one of the runs has the same path in
// every snapshot.
type proof struct{ path, sum string }

// add notes files that this process has just written.
func (p *proofs) add(files []layout.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = map[proof]bool{}
	}
	for i := range files {
		p.done[proof{files[i].Path, files[i].SHA256}] = true
	}
}

// prove reads the whole of a file and compares it with its checksum, once.
func (p *proofs) prove(fsys FS, s *layout.Snapshot, f *layout.File) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	known := p.done[proof{f.Path, f.SHA256}]
	p.mu.Unlock()
	if known {
		return nil
	}
	path := s.Path(f)
	file, err := fsys.Open(path)
	if isGone(err) {
		return &DamageError{Path: path, What: "it is not there"}
	}
	if err != nil {
		return fmt.Errorf("open a data file: %w", err)
	}
	if err := closing(layout.Prove(file, path, f), file.Close); err != nil {
		return err
	}
	p.add([]layout.File{*f})
	return nil
}

// open opens a file of a snapshot, once it is proven.
func (p *proofs) open(fsys FS, s *layout.Snapshot, f *layout.File) (*tableReader, error) {
	if err := p.prove(fsys, s, f); err != nil {
		return nil, err
	}
	return openTable(fsys, s.Path(f), tableOf(f.Table))
}

// open opens a file of the old snapshot, once it is proven.
func (c *commit) open(f *layout.File) (*tableReader, error) { return c.proofs.open(c.fsys, c.old, f) }

// proveAll proves the files of a table.
func (p *proofs) proveAll(fsys FS, s *layout.Snapshot, table *schema.Table) error {
	for _, f := range s.Manifest.FilesOf(table.Name) {
		if err := p.prove(fsys, s, f); err != nil {
			return err
		}
	}
	return nil
}
