// Package catalog reads and changes the metadata of Iceberg tables: through a server with Iceberg's
// REST protocol, or in files next to the data. It handles only the metadata of tables: it reads no
// warehouse, and writes neither data nor manifests.
package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"

	"callhouse/internal/publish/store"
)

// Catalog stores the location of each table's metadata, and changes it.
type Catalog interface {
	// Load returns the current state of a table, without metadata if it does not exist.
	Load(ctx context.Context, name string) (Current, error)
	// Commit changes tables that are unchanged since they were loaded: all of them, or none. It
	// returns ErrConflict if one of them changed, and ErrStateUnknown if the outcome is unknown. Only an
	// atomic catalog accepts more than one table.
	Commit(ctx context.Context, changes ...Change) error
	// Stage announces a new table. It returns the address, UUID and schema that the catalog
	// assigns; empty if the choice is ours.
	Stage(ctx context.Context, t *New) (Leftover, error)
	Capabilities() Capabilities
}

// Errors of a commit.
var (
	ErrConflict     = errors.New("another program changed the table meanwhile")
	ErrStateUnknown = errors.New("it is unknown whether the commit succeeded")
)

// Change is the change of a loaded table in a commit.
type Change struct {
	Name    string
	Base    Current
	Updates []Update
}

// New is a table to be created.
type New struct {
	Name     string                 `json:"name"`
	Location string                 `json:"location"`
	Schema   *iceberg.Schema        `json:"schema"`
	Spec     *iceberg.PartitionSpec `json:"partition-spec"`
	Order    *Order                 `json:"write-order"`
	Staged   bool                   `json:"stage-create"` // no table yet: the first commit creates it
}

// Capabilities are the capabilities in which catalogs differ.
type Capabilities struct {
	Tags   bool // tables may keep older snapshots, and names for them
	Atomic bool // one commit can change several tables
}

// Current is the loaded state of a table.
type Current struct {
	*Metadata        // nil if the table does not exist
	File      string // of the metadata
	Version   int    // version number, in a catalog of files
}

// Leftover holds a catalog's requirements for a new table.
type Leftover struct {
	UUID     string            `json:"table-uuid"`
	Location string            `json:"location"`
	Schemas  []*iceberg.Schema `json:"schemas"`
}

// Files is a catalog without a server: next to the data are v1.metadata.json, v2.metadata.json and
// so on, each created only if it does not exist, and version-hint.text, from which readers start to
// look for the last one.
type Files struct {
	store store.Store
	root  string
}

const (
	// HintName is the file with the number of a version that was once the last one.
	HintName         = "version-hint.text"
	PreviousVersions = 20 // versions of the metadata, not counting the last one
)

var versionRE = regexp.MustCompile(`^v([0-9]+)\.metadata\.json$`)

// NewFiles returns the catalog of the tables below an address.
func NewFiles(s store.Store, root string) *Files { return &Files{s, root} }

func (c *Files) dir(name string) string { return c.root + "/" + name + "/metadata" }

// File returns the address of a version of a table's metadata.
func (c *Files) File(name string, n int) string {
	return fmt.Sprintf("%s/v%d.metadata.json", c.dir(name), n)
}

// Load implements Catalog.
func (c *Files) Load(ctx context.Context, name string) (Current, error) {
	known, err := c.hint(ctx, name)
	if err != nil {
		return Current{}, err
	}
	at, raw, err := c.last(ctx, name, known)
	if err == nil && raw == nil && known > 0 { // the hint is outdated, or the version that it names was lost
		newest, e := c.newest(ctx, name)
		if err = e; err == nil && newest > known {
			at, raw, err = c.last(ctx, name, newest)
		}
	}
	switch {
	case err != nil:
		return Current{}, err
	case raw == nil && known > 0:
		return Current{}, &BrokenError{c.File(name, known) + " is the newest metadata, and is missing"}
	case raw == nil:
		return Current{}, nil
	}
	meta, err := Parse(raw)
	if err != nil {
		return Current{}, &BrokenError{fmt.Sprintf("%s cannot be used: %v", c.File(name, at), err)}
	}
	return Current{meta, c.File(name, at), at}, nil
}

// last returns the last of consecutive versions of the metadata, starting at from; nil if there is
// none.
func (c *Files) last(ctx context.Context, name string, from int) (n int, raw []byte, err error) {
	for n = max(from, 1); ; n++ {
		next, err := c.store.Get(ctx, c.File(name, n))
		if errors.Is(err, fs.ErrNotExist) {
			return n - 1, raw, nil
		}
		if err != nil {
			return 0, nil, err
		}
		raw = next
	}
}

// newest returns the highest listed version; 0 if there is none.
func (c *Files) newest(ctx context.Context, name string) (n int, err error) {
	objects, err := c.store.List(ctx, c.dir(name))
	for _, o := range objects {
		n = max(n, VersionOf(o.URI))
	}
	return n, err
}

// hint returns the number of a version that once existed, and that others may have followed; 0 if
// there never was one.
func (c *Files) hint(ctx context.Context, name string) (int, error) {
	raw, err := c.store.Get(ctx, c.dir(name)+"/"+HintName)
	if err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && n > 0 {
			return n, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	// A publisher was interrupted before the first hint, or the hint was removed.
	return c.newest(ctx, name)
}

// VersionOf returns the version of the metadata at an address; 0 if it is not metadata.
func VersionOf(uri string) int {
	if m := versionRE.FindStringSubmatch(path.Base(uri)); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// Capabilities implements Catalog.
func (c *Files) Capabilities() Capabilities { return Capabilities{Tags: true} }

// Stage implements Catalog.
func (c *Files) Stage(context.Context, *New) (Leftover, error) { return Leftover{}, nil }

// Commit implements Catalog.
func (c *Files) Commit(ctx context.Context, changes ...Change) error {
	name, base := changes[0].Name, changes[0].Base
	meta, err := base.Apply(changes[0].Updates, base.File, time.Now())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	// A publisher that is many versions ahead may already have removed the version after the base.
	// That version could then be created again, and would never be read.
	switch known, err := c.hint(ctx, name); {
	case err != nil:
		return err
	case known > base.Version:
		return ErrConflict
	}
	at := c.File(name, base.Version+1)
	if err := c.store.Create(ctx, at, raw); err != nil {
		// Our own first attempt may have succeeded even if its response was lost.
		there, e := c.store.Get(ctx, at)
		switch {
		case e == nil && !bytes.Equal(there, raw):
			return ErrConflict
		case e != nil:
			return fmt.Errorf("%w: %w", ErrStateUnknown, err)
		}
	}
	// The publisher of the next version may write its hint first; it must not be overwritten.
	for n := base.Version + 1; ; n++ {
		hint := []byte(strconv.Itoa(n))
		if err := c.store.Put(ctx, c.dir(name)+"/"+HintName, bytes.NewReader(hint), int64(len(hint))); err != nil {
			return err
		}
		if next, err := c.store.Size(ctx, c.File(name, n+1)); err != nil || next < 0 {
			return err
		}
	}
}
