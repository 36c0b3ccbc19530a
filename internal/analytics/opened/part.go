package opened

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"regexp"
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

// IDs finds the pieces of files of calls that may hold a call, with four bytes of memory per call.
// Files never change and no two share a name, so one IDs serves all snapshots of a warehouse. The
// zero value is ready to use.
type IDs struct {
	mu    sync.Mutex
	files map[string][][]uint32 // by the files' paths: hashes of the ids of each piece, sorted
}

// pieceRows is the number of rows in a piece of a file.
const pieceRows = 8192

// piece identifies a piece by the index of its file and its index in that file.
type piece struct{ file, at int }

func hashOf(id string) uint32 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, id)
	return h.Sum32()
}

// find returns the pieces of files that may hold a call.
func (ids *IDs) find(ctx context.Context, conn *duck.Conn, snap *layout.Snapshot, files []*layout.File, id string) (in []piece, err error) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if err := ids.read(ctx, conn, snap, files); err != nil {
		return nil, err
	}
	hash := hashOf(id)
	for i, f := range files {
		for j, hashes := range ids.files[f.Path] {
			if _, ok := slices.BinarySearch(hashes, hash); ok {
				in = append(in, piece{i, j})
			}
		}
	}
	return in, nil
}

// read reads the ids of new files, and drops those of files that are gone.
func (ids *IDs) read(ctx context.Context, conn *duck.Conn, snap *layout.Snapshot, files []*layout.File) error {
	known, unknown := map[string][][]uint32{}, map[string]string{}
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
		rows, err := conn.Query(ctx, "SELECT call_id, filename, file_row_number FROM read_parquet(["+strings.Join(paths, ", ")+
			"], hive_partitioning = false, filename = true, file_row_number = true) /* calls */")
		if err != nil {
			return err
		}
		defer rows.Close()
		for {
			row, err := rows.Values(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			path, at := unknown[row[1].Text], int(row[2].Int()/pieceRows)
			for len(known[path]) <= at {
				known[path] = append(known[path], nil)
			}
			known[path][at] = append(known[path][at], hashOf(row[0].Text))
		}
		for _, path := range unknown {
			for _, hashes := range known[path] {
				slices.Sort(hashes)
			}
		}
	}
	ids.files = known
	return nil
}

// fewest is the minimum number of files for which locating a call's file pays off.
const fewest = 4

// Part returns the schema in which calls and costs have only the rows of the one piece of a file
// that can hold a call; empty: there is none. A reader with limits gets none, because the time
// taken would reveal which calls exist.
func (s *Session) Part(ctx context.Context, id string) (string, error) {
	files := s.db.snap.Manifest.FilesOf(schema.Calls.Name)
	if s.db.ids == nil || len(files) < fewest || !s.db.rights.None() {
		return "", nil
	}
	in, err := s.db.ids.find(ctx, s.conn, s.db.snap, files, id)
	if err != nil || len(in) > 1 {
		return "", err
	}
	p := append(in, piece{})[0] // if no file has the call, any piece will do
	name := guard.PartSchema(p.file, p.at)
	if s.db.copies.has(name, true, func(ctx context.Context, conn *duck.Conn) error { return s.db.copyPart(ctx, conn, name, p) }) {
		return name, nil
	}
	return name, s.db.part(ctx, s.conn, name, p)
}

// part makes the views over a piece of a file of calls.
func (db *DB) part(ctx context.Context, conn *duck.Conn, name string, p piece) error {
	db.defining.Lock()
	defer db.defining.Unlock()
	if db.parts[name] {
		return nil
	}
	file := db.snap.Manifest.FilesOf(schema.Calls.Name)[p.file]
	texts := []string{"CREATE SCHEMA IF NOT EXISTS " + name,
		"CREATE OR REPLACE VIEW " + name + ".stored_calls AS " + stored.Rows(db.snap, file, &schema.Calls, p.at*pieceRows, pieceRows)}
	for _, view := range guard.Parted {
		texts = append(texts, partView(name, view))
	}
	if err := db.making(ctx, conn, name, texts...); err != nil {
		return err
	}
	db.parts[name] = true
	return nil
}

var (
	fromStoredRE = regexp.MustCompile(`\bFROM stored\.(\w+)`)
	fromCallsRE  = regexp.MustCompile(`\bFROM calls\b`)
)

// reading returns the text of a view that reads the stored_… tables and the view calls of a schema.
func reading(schema string, v *sqlfiles.File) string {
	return fromCallsRE.ReplaceAllString(fromStoredRE.ReplaceAllString(v.SQL, "FROM "+schema+".stored_$1"), "FROM "+schema+".calls")
}

// partView returns the statement that makes a view over a piece of a file.
func partView(name, view string) string {
	v, _ := sqlfiles.View(view)
	return "CREATE OR REPLACE VIEW " + name + "." + view + " AS " + reading(name, v)
}
