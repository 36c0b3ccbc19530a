//go:build judged

package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	_ "github.com/duckdb/duckdb-go/v2"

	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/recordings"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// Stock readers open the files, and read every row and the declared types.
func TestStockReaders(t *testing.T) {
	c := record(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 200, Days: 40}}, recordings.Faults{}, found)
	c.mustNight()
	snapshot, err := layout.Current(c.warehouse)
	test.OK(t, err)
	t.Run("arrow-go", func(t *testing.T) {
		for _, table := range schema.Tables {
			var rows int64
			for _, f := range snapshot.Manifest.FilesOf(table.Name) {
				rows += readWithArrow(t, snapshot.Path(f), table)
			}
			if want := snapshot.Manifest.Rows(table.Name); rows != want || rows == 0 {
				t.Errorf("%s: arrow-go reads %d rows, the manifest says %d", table.Name, rows, want)
			}
		}
	})
	t.Run("DuckDB with a glob", func(t *testing.T) {
		db, err := sql.Open("duckdb", "")
		test.OK(t, err)
		defer db.Close()
		for _, table := range schema.CallTables {
			glob := filepath.Join(snapshot.Dir, table.Name, "**", "*.parquet")
			from := fmt.Sprintf("read_parquet('%s', hive_partitioning = true)", glob)
			var rows int64
			test.OK(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+from).Scan(&rows))
			if want := snapshot.Manifest.Rows(table.Name); rows != want {
				t.Errorf("%s: DuckDB reads %d rows, the manifest says %d", table.Name, rows, want)
			}
			got, err := db.QueryContext(t.Context(), "DESCRIBE SELECT * FROM "+from)
			test.OK(t, err)
			var types []string
			for got.Next() {
				var name, kind string
				var rest [4]any
				test.OK(t, got.Scan(&name, &kind, &rest[0], &rest[1], &rest[2], &rest[3]))
				types = append(types, name+" "+kind)
			}
			test.OK(t, got.Err())
			var want []string
			for _, col := range table.Columns {
				want = append(want, col.Name+" "+col.Type.DuckDB())
			}
			want = append(want, "month VARCHAR") // from the folder's name
			if g, w := strings.Join(types, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("%s: DuckDB sees\n%s\nwant\n%s", table.Name, g, w)
			}
		}
	})
}

// readWithArrow reads a whole file and returns its number of rows.
func readWithArrow(t *testing.T, path string, table *schema.Table) int64 {
	t.Helper()
	f, err := os.Open(path)
	test.OK(t, err)
	p, err := file.NewParquetReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer p.Close()
	r, err := pqarrow.NewFileReader(p, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	data, err := r.ReadTable(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer data.Release()
	for i, col := range table.Columns {
		field := data.Schema().Field(i)
		if field.Name != col.Name || field.Nullable == col.Required {
			t.Errorf("%s: column %d is %v, want %s, required %v", path, i, field, col.Name, col.Required)
		}
		if got, _ := field.Metadata.GetValue("PARQUET:field_id"); got != fmt.Sprint(col.ID) {
			t.Errorf("%s: column %s has field id %q, want %d", path, col.Name, got, col.ID)
		}
		if want := arrowType(col.Type); field.Type.String() != want {
			t.Errorf("%s: column %s is %v, want %s", path, col.Name, field.Type, want)
		}
	}
	// Every value is decoded, not only the footer.
	reader := array.NewTableReader(data, 0)
	defer reader.Release()
	var rows int64
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	return rows
}

func arrowType(t schema.Type) string {
	switch t {
	case schema.Text, schema.Word:
		return arrow.BinaryTypes.String.String()
	case schema.JSON:
		return "binary" // Arrow has no JSON type: it returns the bytes
	case schema.Int32:
		return "int32"
	case schema.Int64:
		return "int64"
	case schema.Bool:
		return "bool"
	case schema.Timestamp:
		return "timestamp[us, tz=UTC]"
	case schema.Exact:
		return "decimal(38, 18)"
	case schema.Percent:
		return "decimal(18, 4)"
	}
	return "?"
}
