package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"callhouse/internal/publish/store"
)

// catalog stores the location of each table's metadata, and changes it.
type catalog interface {
	// load loads a table. It leaves one without metadata that does not exist.
	load(ctx context.Context, t *table) error
	// create makes a table that does not exist.
	create(ctx context.Context, t *table) error
	// commit changes a table that is unchanged since it was loaded. Otherwise it returns a
	// *store.LockedError.
	commit(ctx context.Context, c *change) error
}

func conflict(to string) error {
	return &store.LockedError{URI: to, What: "another program has just changed the tables"}
}

// files is a catalog without a server: next to the data are v1.metadata.json, v2.metadata.json and
// so on, each created only if it does not exist, and version-hint.text with the last number, from
// which readers start.
type files struct{ *publication }

var versionRE = regexp.MustCompile(`^v([0-9]+)\.metadata\.json$`)

// versionOf returns the number in the name of a metadata file; 0 for other names.
func versionOf(name string) int {
	if m := versionRE.FindStringSubmatch(name); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

func (c files) location(t *table) string { return c.To + "/" + t.of.Name }
func (c files) fileOf(t *table, n int) string {
	return fmt.Sprintf("%s/metadata/v%d.metadata.json", c.location(t), n)
}
func (c files) create(_ context.Context, t *table) error {
	columns, _ := schemaOf(t.of, 0)
	t.meta = newMetadata(c.location(t), columns)
	return nil
}

func (c files) load(ctx context.Context, t *table) (err error) {
	if t.listed, err = c.store.List(ctx, c.location(t)); err != nil {
		return err
	}
	var newest, hint store.Object
	t.version = 0
	for _, o := range t.listed {
		switch name := nameIn(c.location(t)+"/metadata", o); {
		case name == "version-hint.text":
			hint = o
		case versionOf(name) > t.version:
			newest, t.version = o, versionOf(name)
		}
	}
	if t.version == 0 {
		return nil
	}
	t.file = newest.URI
	raw, err := c.store.Get(ctx, t.file)
	if err != nil {
		return err
	}
	if t.meta, err = parse(raw); err == nil && t.meta.Location != c.location(t) {
		err = fmt.Errorf("it is of a table at %s", t.meta.Location)
	}
	if err != nil {
		return broken("%s cannot be used: %v", t.file, err)
	}
	if hint.Size != int64(len(strconv.Itoa(t.version))) || !hint.Modified.After(newest.Modified) { // it may be an older one
		return c.hint(ctx, t)
	}
	return nil
}

func (c files) commit(ctx context.Context, change *change) error {
	t, meta := change.table, change.apply()
	raw, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	at := c.fileOf(t, t.version+1)
	err = c.store.Create(ctx, at, raw)
	if errors.Is(err, fs.ErrExist) {
		return conflict(at)
	}
	if err != nil {
		return err
	}
	t.meta, t.file, t.version = meta, at, t.version+1
	return c.hint(ctx, t)
}

func (c files) hint(ctx context.Context, t *table) error {
	n := strconv.AppendInt(nil, int64(t.version), 10)
	return c.store.Put(ctx, c.location(t)+"/metadata/version-hint.text", bytes.NewReader(n), int64(len(n)))
}
