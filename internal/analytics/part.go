package analytics

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// IDs knows which files of calls may hold a call, by four bytes for each. Files never change, and no
// two have one name, so it serves all snapshots of a warehouse. Its zero value is ready.
type IDs struct {
	mu    sync.Mutex
	files map[string][]uint32 // hashes of ids, sorted, by the files' paths
}

func hashOf(id string) uint32 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, id)
	return h.Sum32()
}

// find returns the places of the files that may hold a call.
func (ids *IDs) find(ctx context.Context, conn *duck.Conn, snap *layout.Snapshot, files []*layout.File, id string) (at []int, err error) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if err := ids.read(ctx, conn, snap, files); err != nil {
		return nil, err
	}
	hash := hashOf(id)
	for i, f := range files {
		if _, ok := slices.BinarySearch(ids.files[f.Path], hash); ok {
			at = append(at, i)
		}
	}
	return at, nil
}

// read reads the ids of files that it does not know, and forgets those that are gone.
func (ids *IDs) read(ctx context.Context, conn *duck.Conn, snap *layout.Snapshot, files []*layout.File) error {
	known, unknown := map[string][]uint32{}, map[string]string{}
	var paths []string
	for _, f := range files {
		if of, ok := ids.files[f.Path]; ok {
			known[f.Path] = of
			continue
		}
		unknown[snap.Path(f)] = f.Path
		paths = append(paths, stored.Quote(snap.Path(f)))
	}
	if len(paths) > 0 {
		rows, err := conn.Query(ctx, "SELECT call_id, filename FROM read_parquet(["+strings.Join(paths, ", ")+
			"], hive_partitioning = false, filename = true) /* calls */")
		if err != nil {
			return err
		}
		defer rows.Close()
		for {
			row, err := rows.NextLent(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			path := unknown[*row[1].(*string)]
			known[path] = append(known[path], hashOf(*row[0].(*string)))
		}
		for _, path := range unknown {
			slices.Sort(known[path])
		}
	}
	ids.files = known
	return nil
}

// fewest is how many files a table has where it pays to look for the one with a call.
const fewest = 4

// Part returns the schema in which calls and costs have the rows of the only file that can hold a
// call; empty: there is none. A reader of some of the rows may not be told by the time it takes
// which calls there are, and gets none.
func (s *Session) Part(ctx context.Context, id string) (string, error) {
	files := s.w.snap.Manifest.FilesOf(schema.Calls.Name)
	if s.w.ids == nil || len(files) < fewest || !s.w.rights.None() {
		return "", nil
	}
	at, err := s.w.ids.find(ctx, s.conn, s.w.snap, files, id)
	if err != nil || len(at) > 1 {
		return "", err
	}
	at = append(at, 0) // where no file has it, any will do
	name := guard.PartSchema(at[0])
	bare := *s.conn // for which nothing has to be defined before
	bare.Before = nil
	s.w.defining.Lock()
	defer s.w.defining.Unlock()
	if s.w.parts[at[0]] {
		return name, nil
	}
	for _, text := range s.w.part(name, files[at[0]]) {
		if err := bare.Exec(context.WithoutCancel(ctx), text); err != nil {
			return "", fmt.Errorf("define a part of the snapshot %s: %w", s.w.snap.Dir, err)
		}
	}
	s.w.parts[at[0]] = true
	return name, nil
}

// part returns the statements that make the views over one file of calls.
func (w *Warehouse) part(name string, of *layout.File) []string {
	out := []string{"CREATE SCHEMA IF NOT EXISTS " + name}
	sql := map[string]string{"stored_calls": w.relation([]*layout.File{of}, &schema.Calls)}
	for _, view := range guard.Parted {
		v, _ := sqlfiles.View(view)
		sql[view] = reading(name, v)
	}
	for _, view := range append([]string{"stored_calls"}, guard.Parted...) {
		out = append(out, "CREATE OR REPLACE VIEW "+name+"."+view+" AS "+sql[view])
	}
	return out
}
