package sink

import (
	"context"
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Find reads one call of a snapshot with all its turns and items; nil if the snapshot has no such
// call.
func Find(ctx context.Context, s *layout.Snapshot, id string) (*calls.Call, error) {
	r, err := readOf(s)
	if err != nil {
		return nil, err
	}
	return r.Find(ctx, id)
}

// Find is the function Find for a reader. The files' filters show which files to read.
func (r *Reader) Find(ctx context.Context, id string) (found *calls.Call, err error) {
	ids := new(idFilter)
	ids.Add(id)
	for _, f := range r.Files(schema.Calls.Name) {
		t, err := r.OpenAsIs(f)
		if err != nil {
			return nil, err
		}
		var has, some bool
		if some, err = ids.Narrow(t); err == nil && some {
			if err = errors.Join(ctx.Err(), r.Prove(f)); err == nil {
				err = t.Each([]string{"call_id"}, func(row []parquet.Value) { has = has || string(row[0].ByteArray()) == id })
			}
		}
		if err = errors.Join(err, t.Close()); err == nil && has {
			err = r.EachCall(ctx, f.Period, nil, func(c *calls.Call) error {
				if string(c.ID()) == id {
					found = c.Copy()
					found.Own()
				}
				return nil
			})
		}
		if err != nil || found != nil {
			return found, err
		}
	}
	// A damaged filter may have hidden the call.
	for _, f := range r.Files(schema.Calls.Name) {
		if err := r.Prove(f); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
