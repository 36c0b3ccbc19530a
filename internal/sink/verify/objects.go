package verify

import (
	"encoding/json"
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
)

// whole verifies the files of one table without periods, or of a resource with its lists.
func (v *verifier) whole(s *layout.Snapshot, first *tableCheck, checks map[string]*tableCheck) error {
	for _, c := range checks {
		if err := v.cells(c); err != nil {
			return err
		}
	}
	of := resource.Owner(first.listed.Table)
	if of == nil {
		return nil
	}
	if c := checks[of.Name]; c != nil {
		return v.objects(s, of, c.at)
	}
	v.bad.Add("reference", first.at, "%s has a file, %s has none", first.listed.Table, of.Name)
	return nil
}

// cells verifies each row of a file by itself.
func (v *verifier) cells(c *tableCheck) error {
	t := table.ByName(c.listed.Table)
	run := t.Column("run_id")
	var room schema.Rows
	return c.r.All(func(in parquet.Row) error {
		c.counted.Rows++
		room.Empty(t)
		room.AddRow(in)
		row := room.At(0)
		for i := range t.Columns {
			switch col := &t.Columns[i]; {
			case row[i].IsNull() && col.Required:
				v.bad.Add("null", c.at, "row %d has no %s", c.counted.Rows, col.Name)
			case col.Type == schema.JSON && !row[i].IsNull() && !json.Valid(row[i].ByteArray()):
				v.bad.Add("json", c.at, "%s in row %d is no JSON", col.Name, c.counted.Rows)
			}
		}
		if run >= 0 {
			if _, ok := layout.ParseRunID(string(row[run].ByteArray())); !ok {
				v.bad.Add("runs", c.at, "%q is no run id", row[run].ByteArray())
			}
		}
		return nil
	})
}

// objects verifies the order of a resource's objects, and that none was forgotten.
func (v *verifier) objects(s *layout.Snapshot, of *resource.Resource, at string) error {
	last, first := "", true
	err := snapshot.NewReader(v.opts.FS, s, nil).EachObject(of, func(o *schema.Object) error {
		key := of.KeyOf(o.Row)
		switch {
		case first || key > last:
		case key == last:
			v.bad.Add("twice", at, "%s is in it twice", key)
		default:
			v.bad.Add("order", at, "%s comes after %s", key, last)
		}
		last, first = key, false
		if of.Forgot(key, v.tombstones.Forgot) {
			v.bad.Add("forgotten", at, "an object in it, or its call, was forgotten: %s", v.tombstones.Of([]byte(key)))
		}
		return nil
	})
	var damage *disk.DamageError
	if errors.As(err, &damage) {
		v.bad.Add("reference", v.rel(damage.Path), "%s", damage.What)
		return nil
	}
	return err
}
