package sink

import (
	"context"
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// Mention is a row of another call or object that contains a forgotten id or number. forget does not
// change it.
type Mention struct {
	Table  string `json:"table"`
	Column string `json:"column"`
	ID     string `json:"id"` // of the call or object
}

// mostMentions is how many mentions a receipt lists; the rest are counted.
const mostMentions = 1000

// findMentions searches the texts of the current snapshot, except rows that are erased.
func (f *erasure) findMentions(ctx context.Context) error {
	in := f.w.read(f.current)
	for i := range in.Manifest.Files {
		file := &in.Manifest.Files[i]
		if of := tableByName(file.Table); of != nil && idColumn(file.Table) != "" {
			if err := in.Read(file, func(r *tableReader) error { return f.mentionsIn(ctx, r, of) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// mentionsIn searches one file.
func (f *erasure) mentionsIn(ctx context.Context, r *tableReader, of *schema.Table) error {
	columns := []string{idColumn(of.Name)}
	if of == &resource.Changes {
		columns = append(columns, "resource")
	}
	from := len(columns)
	for _, c := range r.Texts() {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	last := make([]string, len(columns)) // the rows of a call are adjacent
	err := r.Each(columns, func(row []parquet.Value) {
		id := string(row[0].ByteArray())
		if ctx.Err() != nil || f.isErased(of, id, row) {
			return
		}
		for i := from; i < len(columns); i++ {
			if last[i] == id || row[i].IsNull() || !f.traces.in(row[i].ByteArray()) {
				continue
			}
			last[i] = id
			if f.mentioned++; len(f.mentions) < mostMentions {
				f.mentions = append(f.mentions, Mention{of.Name, columns[i], id})
			}
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// isErased reports whether a row is erased, by its id and, in the table of changes, its resource.
func (f *erasure) isErased(of *schema.Table, id string, row []parquet.Value) bool {
	forgotten := func(id string) bool { return f.ids[id] }
	if of == &resource.Changes {
		owner := resource.ByName(string(row[1].ByteArray()))
		return owner != nil && slices.Contains(personalResources, owner) && owner.Forgot(id, forgotten)
	}
	if of.Column("call_id") >= 0 {
		return f.ids[id]
	}
	return slices.Contains(personalResources, resource.ByName(of.Name)) && f.ids[resource.Part(id)]
}

// idColumn returns the column that names the call or object of a row; empty if there is none.
func idColumn(name string) string {
	if name == resource.Changes.Name {
		return "key"
	}
	if t := tableByName(name); t != nil && t.Column("call_id") >= 0 {
		return "call_id"
	}
	if of := resource.ByName(name); of != nil {
		return of.Key[0]
	}
	return ""
}

// LakesBefore returns the places to which a warehouse was published, but not since a snapshot: they
// still hold what was forgotten then.
func LakesBefore(root string, number int64) ([]string, error) {
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return nil, err
	}
	noted, err := readLakes(fsys, root)
	out := []string{}
	for i := range noted {
		if noted[i].Snapshot < number {
			out = append(out, noted[i].To)
		}
	}
	return out, err
}
