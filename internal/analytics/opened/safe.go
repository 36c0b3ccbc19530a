package opened

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Limits bound what statements may take on a warehouse that is opened safe.
type Limits struct {
	Memory int64 // bytes that DuckDB may hold
	Temp   int64 // bytes that it may write to its folder for what does not fit
}

// seal shuts a warehouse: from here on no file is opened but the snapshot's own, no
// extension loaded, and no setting changed but the zone, which every connection sets.
// That the files are named one by one means that a link beside them leads nowhere.
func (db *DB) seal(ctx context.Context, conn *duck.Conn, l *Limits) error {
	var files []string
	for _, t := range resource.AllTables {
		// Tallies are read by reports, and no statement can name them; those with callers' numbers and calls' ids only
		// without limits.
		isTally := slices.Contains(schema.TallyTables, t) && !slices.Contains(schema.FactTables, t)
		if !db.rights.None() && !db.rights.Holds(t) && !(db.rights.Agents != nil && t == &schema.Calls) && !(isTally && db.rights.Tallied()) {
			continue
		}
		for _, f := range db.filesOf(t) {
			files = append(files, stored.Quote(db.snap.Path(f)))
		}
	}
	for _, text := range []string{
		fmt.Sprintf("SET GLOBAL memory_limit = '%d B'", l.Memory),
		fmt.Sprintf("SET GLOBAL max_temp_directory_size = '%d B'", l.Temp),
		"SET GLOBAL allowed_paths = CAST([" + strings.Join(files, ", ") + "] AS VARCHAR[])",
		"SET GLOBAL enable_external_access = false",
		"SET GLOBAL allowed_configs = ['TimeZone']",
		"SET GLOBAL lock_configuration = true",
	} {
		if err := conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("restrict access to the warehouse: %w", err)
		}
	}
	return nil
}

// absolute returns root without links in it, since DuckDB compares the paths
// that it is allowed by their letters.
func absolute(root string) (string, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil // what is not there is told of by who opens it
}
