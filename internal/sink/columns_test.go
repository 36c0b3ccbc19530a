package sink

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/verify"
)

// added marks a column as newer than its format version during a test.
func added(t *testing.T, table *schema.Table, column, since string) {
	t.Helper()
	c := &table.Columns[table.Column(column)]
	was := c.Since
	t.Cleanup(func() { c.Since = was })
	c.Since = since
}

// refuses checks the error of a program that does not know a column.
func refuses(t *testing.T, err error, column string) {
	t.Helper()
	var e *layout.ColumnError
	if !errors.As(err, &e) || e.Column.Name != column {
		t.Errorf("the error is %v, want one of the column %s", err, column)
	}
}

// A column without a new format version: a program that knows it reads files without it, and
// records it in the manifest.
func TestAddedColumn(t *testing.T) {
	added(t, &schema.Calls, "variant_label", "9.8.7")
	root := filepath.Join(t.TempDir(), "w")
	w := night(t, nil, root, 0)
	if err := w.Put(context.Background(), storyRecord("a", 2), storyRecord("b", 2)); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, w)
	want := layout.Column{Table: "calls", Name: "variant_label", ID: 21, Since: "9.8.7"}
	if got := w.Snapshot().Manifest.Columns; !slices.Contains(got, want) {
		t.Errorf("the manifest knows %v", got)
	}
	before := spoken(t, w.Snapshot())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	withoutColumn(t, root, today, "variant_label")
	r, err := verify.Warehouse(context.Background(), verify.Options{Root: root})
	if err != nil || !r.Whole() {
		t.Errorf("a file that lacks the column: %+v, %v", r, err)
	}
	w = night(t, nil, root, 1)
	if err := w.Put(context.Background(), storyRecord("b", 3)); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, w)
	if _, _, err := w.Migrate(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if now := spoken(t, w.Snapshot()); strings.Count(now, `"variant_label":null`) != strings.Count(before, `"variant_label":null`) {
		t.Errorf("the calls became\n%s, they were\n%s", now, before)
	}
	if r, err := verify.Warehouse(context.Background(), verify.Options{Root: root, All: true}); err != nil || !r.Whole() {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

// A program that does not know a column reads the others and writes nothing: neither after the
// snapshot with the column nor by returning to it.
func TestColumnOfANewerProgram(t *testing.T) {
	newer := schema.Calls
	newer.Columns = append(slices.Clone(newer.Columns), schema.Column{Name: "made_up", ID: 99, Type: schema.Text})
	write := func(root string, known bool) {
		t.Helper()
		d := damageTo(t, root)
		d.rows(d.file("calls", today), &newer, func(rows []parquet.Row) []parquet.Row {
			for i := range rows {
				rows[i] = append(rows[i], parquet.ByteArrayValue([]byte("ko")).Level(0, 1, len(rows[i])))
			}
			return rows
		})
		if known {
			d.manifest(func(m *layout.Manifest) {
				m.Columns = append(m.Columns, layout.Column{Table: "calls", Name: "made_up", ID: 99, Since: "9.8.7"})
			})
		}
	}
	root := sound(t)
	s, err := layout.Current(root)
	if err != nil {
		t.Fatal(err)
	}
	before := spoken(t, s)
	write(root, true)
	if s, err = layout.Current(root); err != nil {
		t.Fatal(err)
	}
	if now := spoken(t, s); now != before {
		t.Errorf("the calls are read as\n%s, they were\n%s", now, before)
	}
	if r, err := verify.Warehouse(context.Background(), verify.Options{Root: root}); err != nil || !r.Whole() {
		t.Errorf("verify: %+v, %v", r, err)
	}
	w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 9)})
	if refuses(t, err, "made_up"); err == nil {
		_ = w.Close()
	} else if !strings.Contains(err.Error(), "upgrade callhouse to 9.8.7 or newer") {
		t.Error(err)
	}

	// Without an entry in the manifest nothing is lost either.
	root = sound(t)
	write(root, false)
	if r, err := verify.Warehouse(context.Background(), verify.Options{Root: root}); err != nil || r.Whole() {
		t.Errorf("verify finds nothing: %v", err)
	}
	w = night(t, nil, root, 1)
	if err := w.Put(context.Background(), storyRecord("a", 7)); err != nil {
		t.Fatal(err)
	}
	refuses(t, w.Commit(context.Background(), doneRow(w)), "made_up")
}

// A rollback to a snapshot with an unknown column is refused.
func TestRollbackToAColumnOfANewerProgram(t *testing.T) {
	w := older(t)
	dir := w.Snapshot().Dir
	number := w.Snapshot().Manifest.Snapshot
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := damageTo(t, w.opts.Root)
	all, err := snapshot.Retained(w.opts.Root)
	if err != nil {
		t.Fatal(err)
	}
	d.s = all[0]
	d.manifest(func(m *layout.Manifest) {
		m.Columns = append(m.Columns, layout.Column{Table: "calls", Name: "made_up", ID: 99, Since: "9.8.7"})
	})
	w = night(t, nil, w.opts.Root, 5)
	_, err = w.Rollback(context.Background(), all[0].Manifest.Snapshot, func(*layout.Snapshot) schema.Run {
		return schema.Run{ID: w.opts.RunID, Outcome: schema.OutcomeRolledBack}
	})
	if refuses(t, err, "made_up"); w.Snapshot().Dir != dir || w.Snapshot().Manifest.Snapshot != number {
		t.Error("it went back")
	}
}
