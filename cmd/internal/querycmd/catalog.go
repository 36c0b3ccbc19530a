package querycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/database"
	"callhouse/internal/layout"
	"callhouse/internal/scratch"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// catalogName is the default file of the catalog.
const catalogName = "callhouse.duckdb"

func (a *app) catalogCommand() *cobra.Command {
	var asSQL bool
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Create a DuckDB file of views for BI tools and other programs",
		Long: `Create a small DuckDB database, ` + catalogName + ` or --output, with the tables of
query list as views over the current snapshot. Metabase, Superset, DBeaver,
Python, R and other programs that read DuckDB files open it read-only.

The new file replaces the old one by one rename, so it can be recreated every
night while others read it. Connections to the old file keep reading the old
snapshot; new connections see the new one. A snapshot is kept while a catalog
refers to it, and for 24 hours after. --tz sets the zone of local days and hours.

--sql prints the statements instead, for DuckDB's own shell. They pin no snapshot, so
print them again for each use.`,
		Example: `  extract run && query catalog --output /srv/bi/callhouse.duckdb
  query catalog --sql --output calls.sql && duckdb -init calls.sql
  python3 -c "import duckdb; print(duckdb.connect('callhouse.duckdb', read_only=True).sql('FROM snapshot'))"`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Format != "" {
				return cli.Usage("query export writes other formats", "catalog writes a DuckDB file and takes no --format")
			}
			if asSQL {
				return a.printCatalog(cmd.Context())
			}
			return a.makeCatalog(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&asSQL, "sql", false, "print the SQL that creates the views")
	return cmd
}

// printCatalog writes the statements of the catalog.
func (a *app) printCatalog(ctx context.Context) error {
	snap, loc, err := a.opened(ctx)
	if err != nil {
		return err
	}
	print := func(w io.Writer) error {
		script := fmt.Sprintf("-- Snapshot %d of a warehouse of calls, committed %s.\nSET TimeZone = '%s';\n\n", snap.Manifest.Snapshot,
			snap.Manifest.CommittedAt.UTC().Format(time.RFC3339), loc) + database.CatalogScript(snap, loc)
		if cli.CanDraw(w) { // other outputs get the exact script
			script = words.Lines(script)
		}
		_, err := io.WriteString(w, script)
		return err
	}
	if a.Output != "" {
		return answer.WriteFileMode(a.Output, 0o644, print) // the file contains no data
	}
	return print(a.Stdout)
}

// opened returns the snapshot by absolute path and the zone, for a file that outlives this process.
func (a *app) opened(ctx context.Context) (*layout.Snapshot, *time.Location, error) {
	loc, err := a.Location()
	if err != nil {
		return nil, nil, err
	}
	if err := database.CheckZone(ctx, loc); err != nil {
		return nil, nil, err
	}
	snap, err := database.CurrentAbsolute(a.Warehouse)
	return snap, loc, err
}

func (a *app) makeCatalog(ctx context.Context) error {
	snap, loc, err := a.opened(ctx)
	if err != nil {
		return err
	}
	path := a.Output
	if path == "" {
		path = catalogName
	}
	if path, err = filepath.Abs(path); err != nil {
		return answer.Unwritable(a.Output, err)
	}
	warehouse := snap.Root()
	if err := replaceable(ctx, warehouse, path); err != nil {
		return err
	}
	var files []*layout.File
	for i := range snap.Manifest.Files {
		files = append(files, &snap.Manifest.Files[i])
	}
	if err := snap.VerifyChecksums(ctx, files); err != nil {
		return err
	}
	// The pin comes first, so that a catalog never refers to a snapshot that may be removed.
	pin, err := sink.Pin(warehouse, path, snap.Manifest.Snapshot)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		words.Fprintln(a.Stderr, "the warehouse is read-only, so the snapshot cannot be pinned: it is kept for 24 hours after the next commit")
	case err != nil:
		return err
	default:
		defer pin.Close()
	}
	if err := swapCatalog(ctx, snap, loc, path); err != nil {
		return err
	}
	if pin != nil {
		if err := pin.Settle(time.Now()); err != nil {
			return err
		}
	}
	words.Fprintf(a.Stderr, "%s: views of snapshot %d, committed %s, days in %s\n", path, snap.Manifest.Snapshot,
		snap.Manifest.CommittedAt.UTC().Format(time.RFC3339), loc)
	return nil
}

// swapCatalog makes the catalog in a folder next to path and renames it to path.
func swapCatalog(ctx context.Context, snap *layout.Snapshot, loc *time.Location, path string) error {
	tmp, err := scratch.Folder(path)
	if err != nil {
		return answer.Unwritable(path, err)
	}
	defer func() { _ = tmp.Remove() }()
	made := filepath.Join(tmp.Path, filepath.Base(path))
	if err := database.WriteCatalog(ctx, snap, loc, made); err != nil {
		return err
	}
	if err := durable(made, 0o644); err != nil {
		return answer.Unwritable(path, err)
	}
	if err := os.Rename(made, path); err != nil {
		return answer.Unwritable(path, err)
	}
	return syncDir(filepath.Dir(path))
}

// durable sets the mode of a new file, and syncs it.
func durable(path string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(mode), f.Sync(), f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// replaceable returns nil if path is free or has an older catalog.
func replaceable(ctx context.Context, root, path string) error {
	foreign := func(what string) error {
		return cli.Usage("give another name, e.g. --output callhouse.duckdb, or remove the file first",
			"%s %s: catalog does not replace it", path, what)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return answer.Unwritable(path, err)
	case info.IsDir():
		return foreign("is a folder")
	case !info.Mode().IsRegular():
		return foreign("is not a regular file")
	}
	if ok, err := isDuckDB(path); err != nil {
		return answer.Unwritable(path, err)
	} else if !ok {
		return foreign("is not a DuckDB file")
	}
	ok, err := database.IsCatalog(ctx, path)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil && !sink.IsPinned(root, path): // another program has it open for writing, or a newer DuckDB wrote it
		return cli.Fail(cli.ExitFailed, fmt.Errorf("inspect %s: %w", path, err),
			"if it is a catalog, close the programs that use it, or remove it")
	case err == nil && !ok:
		return foreign("contains something else than a catalog's views")
	}
	return nil
}

// isDuckDB reports whether a file begins like a DuckDB file.
func isDuckDB(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 12)
	if _, err := io.ReadFull(f, head); err != nil {
		return false, nil
	}
	return bytes.Equal(head[8:], []byte("DUCK")), nil
}
