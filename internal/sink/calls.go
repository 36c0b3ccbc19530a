package sink

import (
	"context"
	"iter"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Calls yields the calls of a snapshot with their turns and items, as the files
// hold them: by period, in each by start, those without one last. A call is
// valid until the next one is asked for.
func Calls(ctx context.Context, s *layout.Snapshot) iter.Seq2[*schema.Call, error] {
	return callsOf(ctx, s, func(c *commit, f *layout.File) (*periodReader, error) { return c.openPeriod(f.Period) })
}

// CallRows yields the calls of a snapshot in the same order, without their turns
// and items: the table calls alone is read.
func CallRows(ctx context.Context, s *layout.Snapshot) iter.Seq2[*schema.Call, error] {
	return callsOf(ctx, s, func(c *commit, f *layout.File) (*periodReader, error) {
		t, err := c.open(f)
		if err != nil {
			return nil, err
		}
		return &periodReader{calls: t}, nil
	})
}

// callsOf yields the calls of a snapshot; open opens the period of a file of
// calls.
func callsOf(ctx context.Context, s *layout.Snapshot, open func(*commit, *layout.File) (*periodReader, error)) iter.Seq2[*schema.Call, error] {
	return func(yield func(*schema.Call, error) bool) {
		fsys, err := openToRead(s.Root())
		if err != nil {
			yield(nil, err)
			return
		}
		c := &commit{fsys: fsys, old: s, proofs: new(proofs)}
		for _, f := range s.Manifest.FilesOf(schema.Calls.Name) {
			in, err := open(c, f)
			if err != nil {
				yield(nil, err)
				return
			}
			on, err := each(ctx, in, yield)
			if err = closing(err, in.close); err != nil {
				yield(nil, err)
				return
			}
			if !on {
				return
			}
		}
	}
}

// each yields the calls of one period, and says whether to go on.
func each(ctx context.Context, in *periodReader, yield func(*schema.Call, error) bool) (on bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		call, err := in.next()
		if err != nil {
			return false, err
		}
		if call == nil {
			return true, in.done()
		}
		if err := in.take(call); err != nil {
			return false, err
		}
		if !yield(call, nil) {
			return false, nil
		}
	}
}

// Forgotten returns what tells whether a snapshot's warehouse was asked to
// forget a call.
func Forgotten(s *layout.Snapshot) (func(id string) bool, error) {
	fsys, err := openToRead(s.Root())
	if err != nil {
		return nil, err
	}
	t, err := readTombstones(fsys, s)
	if err != nil {
		return nil, err
	}
	return t.forgot, nil
}
