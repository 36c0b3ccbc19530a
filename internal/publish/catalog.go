package publish

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

// catalog stores where the metadata of a table is, and changes it.
type catalog interface {
	// load returns the current state of a table, without metadata if it does not exist.
	load(ctx context.Context, name string) (current, error)
	// commit changes tables that are unchanged since they were loaded: all of them, or none. If one
	// changed, the error is errConflict. If the outcome is unknown, it is errUnsure. Only an atomic
	// catalog accepts more than one table.
	commit(ctx context.Context, changes ...change) error
	// stage announces a new table. It returns the address, the UUID and the schema that the catalog
	// assigns; none if the choice is ours.
	stage(ctx context.Context, w *work) (relic, error)
	abilities() abilities
	// restart resets a table whose metadata cannot be read, with its old address and, if possible,
	// its old UUID.
	restart(ctx context.Context, name string) (current, relic, error)
}

var (
	errConflict = errors.New("somebody else changed the table meanwhile")
	errUnsure   = errors.New("whether a commit was done is not known")
)

// change is the change of a loaded table in a commit.
type change struct {
	name    string
	base    current
	updates []update
}

// abilities are the differences between catalogs.
type abilities struct {
	tags   bool // a table may have older snapshots, and names for them
	atomic bool // several tables change in one commit
}

// current is the loaded state of a table.
type current struct {
	*metadata        // nil if the table does not exist
	location  string // of the metadata
	version   int    // version number, in a catalog of files
}

// relic is the readable part of unusable metadata, or a catalog's requirements for a new table.
type relic struct {
	UUID     string            `json:"table-uuid"`
	Location string            `json:"location"`
	Schemas  []*iceberg.Schema `json:"schemas"`
}

// files is a catalog without a server: beside the data are v1.metadata.json, v2.metadata.json and
// so on, each created only if it does not exist, and version-hint.text, which tells readers where
// to start looking for the last one.
type files struct {
	store store.Store
	root  string
}

const (
	hintName     = "version-hint.text"
	keptVersions = 20 // of the metadata, besides the last one
)

var versionRE = regexp.MustCompile(`^v([0-9]+)\.metadata\.json$`)

func (c *files) dir(name string) string { return c.root + "/" + name + "/metadata" }

func (c *files) version(name string, n int) string {
	return fmt.Sprintf("%s/v%d.metadata.json", c.dir(name), n)
}

func (c *files) load(ctx context.Context, name string) (current, error) {
	known, err := c.hint(ctx, name)
	if err != nil {
		return current{}, err
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
		return current{}, err
	case raw == nil && known > 0:
		return current{}, &BrokenError{c.version(name, known) + " is the newest metadata, and is missing"}
	case raw == nil:
		return current{}, nil
	}
	meta, err := parse(raw)
	if err != nil {
		return current{}, &BrokenError{fmt.Sprintf("%s cannot be used: %v", c.version(name, at), err)}
	}
	return current{meta, c.version(name, at), at}, nil
}

// last returns the last of consecutive versions of the metadata, starting at from; nil if there is
// none.
func (c *files) last(ctx context.Context, name string, from int) (n int, raw []byte, err error) {
	for n = max(from, 1); ; n++ {
		next, err := c.store.Get(ctx, c.version(name, n))
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
func (c *files) newest(ctx context.Context, name string) (n int, err error) {
	objects, err := c.store.List(ctx, c.dir(name))
	for _, o := range objects {
		n = max(n, versionOf(o.URI))
	}
	return n, err
}

func (c *files) restart(ctx context.Context, name string) (now current, was relic, err error) {
	known, err := c.hint(ctx, name)
	if err != nil {
		return now, was, err
	}
	if now.version, err = c.newest(ctx, name); err != nil {
		return now, was, err
	}
	now.version = max(now.version, known)
	for n := now.version; n > 0 && n >= now.version-keptVersions && was.UUID == ""; n-- {
		raw, err := c.store.Get(ctx, c.version(name, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return now, was, err
		}
		if json.Unmarshal(raw, &was) != nil {
			was = relic{}
		}
	}
	was = relic{UUID: was.UUID, Location: c.root + "/" + name} // readers find it there, whatever the metadata contained
	return now, was, nil
}

// hint returns a version that once existed, and that others may have followed; 0 if there never was
// one.
func (c *files) hint(ctx context.Context, name string) (int, error) {
	raw, err := c.store.Get(ctx, c.dir(name)+"/"+hintName)
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

// versionOf returns the version of the metadata at an address; 0 if it is not metadata.
func versionOf(uri string) int {
	if m := versionRE.FindStringSubmatch(path.Base(uri)); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

func (c *files) abilities() abilities { return abilities{tags: true} }

func (c *files) stage(context.Context, *work) (relic, error) { return relic{}, nil }

func (c *files) commit(ctx context.Context, changes ...change) error {
	name, base := changes[0].name, changes[0].base
	meta, err := base.apply(changes[0].updates, base.location, time.Now())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	// A publisher that is many versions ahead may already have removed the version after the base.
	// It could then be created once more, and would never be read.
	switch known, err := c.hint(ctx, name); {
	case err != nil:
		return err
	case known > base.version:
		return errConflict
	}
	at := c.version(name, base.version+1)
	if err := c.store.Create(ctx, at, raw); err != nil {
		// Our own first attempt may have succeeded although its answer was lost.
		there, e := c.store.Get(ctx, at)
		switch {
		case e == nil && !bytes.Equal(there, raw):
			return errConflict
		case e != nil:
			return fmt.Errorf("%w: %w", errUnsure, err)
		}
	}
	// The publisher of the next version may write its hint first; it must not be overwritten.
	for n := base.version + 1; ; n++ {
		hint := []byte(strconv.Itoa(n))
		if err := c.store.Put(ctx, c.dir(name)+"/"+hintName, bytes.NewReader(hint), int64(len(hint))); err != nil {
			return err
		}
		if next, err := c.store.Size(ctx, c.version(name, n+1)); err != nil || next < 0 {
			return err
		}
	}
}
