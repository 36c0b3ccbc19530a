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

// catalog says where the metadata of a table is, and changes it.
type catalog interface {
	// load returns a table as it is; one without metadata if there is none.
	load(ctx context.Context, name string) (current, error)
	// commit changes tables that still are as they were loaded: all of them, or none. If one is not,
	// the error is errConflict. If nobody knows whether they were changed, it is errUnsure. Only an
	// atomic catalog takes more than one table.
	commit(ctx context.Context, changes ...change) error
	// stage announces a new table. It returns the address, the UUID and the schema that the catalog
	// gives it; none if these are ours to choose.
	stage(ctx context.Context, w *work) (relic, error)
	abilities() abilities
	// restart has a table whose metadata cannot be read begin anew, with the address and, if
	// possible, the UUID that it had.
	restart(ctx context.Context, name string) (current, relic, error)
}

var (
	errConflict = errors.New("somebody else changed the table meanwhile")
	errUnsure   = errors.New("whether a commit was done is not known")
)

// change is what a commit does to a table that was loaded.
type change struct {
	name    string
	base    current
	updates []update
}

// abilities are what catalogs differ in.
type abilities struct {
	tags   bool // a table may have more snapshots than its newest, and names for them
	atomic bool // several tables change in one commit
}

// current is a table as it was loaded.
type current struct {
	*metadata        // nil: there is no table yet
	location  string // of the metadata
	version   int    // its number, in a catalog of files
}

// relic is what can be read of metadata that cannot be used, or what a catalog wants of a new table.
type relic struct {
	UUID     string            `json:"table-uuid"`
	Location string            `json:"location"`
	Schemas  []*iceberg.Schema `json:"schemas"`
}

// files is a catalog without a server: beside the data lie v1.metadata.json, v2.metadata.json
// and so on, each made only if nobody else made it, and version-hint.text, which says where
// to begin looking for the last one.
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
	if err == nil && raw == nil && known > 0 { // the hint was left behind, or what it names was lost
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

// last returns the last of consecutive versions of the metadata, from one on; nil: there is none.
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

// newest returns the highest version that is listed; 0: there is none.
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
	was = relic{UUID: was.UUID, Location: c.root + "/" + name} // by which it is found, whatever the metadata said
	return now, was, nil
}

// hint returns a version that was there once, and that others may have followed; 0 if there
// never was one.
func (c *files) hint(ctx context.Context, name string) (int, error) {
	raw, err := c.store.Get(ctx, c.dir(name)+"/"+hintName)
	if err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && n > 0 {
			return n, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	// Somebody was interrupted before the first hint, or it was removed.
	return c.newest(ctx, name)
}

// versionOf returns the version of the metadata at an address; 0 if it is none.
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
	// The version after the base may have been removed again by a publisher that is many versions
	// ahead. Then it could be created once more, and nobody would ever read it.
	switch known, err := c.hint(ctx, name); {
	case err != nil:
		return err
	case known > base.version:
		return errConflict
	}
	at := c.version(name, base.version+1)
	if err := c.store.Create(ctx, at, raw); err != nil {
		// Our own first attempt may have come through, without its answer.
		there, e := c.store.Get(ctx, at)
		switch {
		case e == nil && !bytes.Equal(there, raw):
			return errConflict
		case e != nil:
			return fmt.Errorf("%w: %w", errUnsure, err)
		}
	}
	// Whoever commits the next version may be quicker with the hint, and must not be overwritten.
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
