package sink

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/phone"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// find looks up the selected calls in all snapshots. A shared file is read once. A call selected in
// one snapshot is forgotten for good.
func (f *erasure) find(ctx context.Context, sel Selection) error {
	for _, id := range sel.CallIDs {
		f.ids[id] = true
	}
	for i, n := range sel.numbers() {
		found := soughtNumber{Number: n, calls: map[string]bool{}, customers: map[string]bool{}}
		if i < len(sel.Masked) {
			found.masked = sel.Masked[i]
		}
		f.numbers = append(f.numbers, found)
	}
	if len(f.numbers) > 0 || !sel.Before.IsZero() {
		day := layout.Day(sel.Before.UnixMilli())
		err := f.eachFile(ctx, func(t *tableReader, file *layout.File) error {
			if len(f.numbers) == 0 && file.Period > day[:min(len(file.Period), len(day))] { // it begins later
				return nil
			}
			return f.selected(ctx, t, sel)
		})
		if err != nil {
			return err
		}
	}
	if err := f.findPeople(ctx, sel); err != nil {
		return err
	}
	if len(f.ids) == 0 {
		return nil
	}
	ids := new(idFilter)
	for id := range f.ids {
		ids.Add(id)
	}
	return f.eachFile(ctx, func(t *tableReader, file *layout.File) error {
		held := map[string]bool{}
		f.held[file.Path] = held
		if _, err := ids.Narrow(t); err != nil {
			return err
		}
		return t.Each([]string{"call_id"}, func(row []parquet.Value) {
			if id := row[0].ByteArray(); f.ids[string(id)] {
				held[string(id)] = true
			}
		})
	})
}

// eachFile visits every file of calls of every snapshot once, those of the current one first.
func (f *erasure) eachFile(ctx context.Context, visit func(*tableReader, *layout.File) error) error {
	seen := map[string]bool{}
	for _, s := range f.all {
		for _, file := range s.Manifest.FilesOf(schema.Calls.Name) {
			if seen[file.Path] {
				continue
			}
			seen[file.Path] = true
			if err := ctx.Err(); err != nil {
				return err
			}
			err := f.w.read(s).Read(file, func(t *tableReader) error { return visit(t, file) })
			if err := f.ignoreRemoved(ctx, s, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// ignoreRemoved returns nil for a snapshot that is about to be removed: it need not be readable.
func (f *erasure) ignoreRemoved(ctx context.Context, s *layout.Snapshot, err error) error {
	if err == nil || s == f.current || ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	return nil
}

// soughtNumber is a number to search for, with the places where it was found.
type soughtNumber struct {
	*phone.Number
	masked           []string // the masked forms of its spellings
	calls, customers map[string]bool
}

// is reports whether a text is the number, or a masked form of it.
func (n *soughtNumber) is(text string) bool { return n.Is(text) || slices.Contains(n.masked, text) }

// numberColumns are the columns of calls with a single number.
var numberColumns = []string{"from_number", "to_number", "presentation_number", "from_e164", "to_e164"}

// selected adds the selected calls of a file.
func (f *erasure) selected(ctx context.Context, t *tableReader, sel Selection) error {
	t.Pick(append([]string{"call_id", "start_at", "first_seen_at"}, numberColumns...)...)
	return t.EachCall(ctx, func(call *calls.Call) {
		if !sel.Before.IsZero() && call.Began() < sel.Before.UnixMilli() {
			f.ids[string(call.ID())] = true
		}
		for i := range f.numbers {
			n := &f.numbers[i]
			if slices.ContainsFunc(numberColumns, func(column string) bool {
				text := call.Text(column)
				return text != nil && n.is(string(text))
			}) {
				id := string(call.ID())
				f.ids[id], n.calls[id] = true, true
			}
		}
	})
}

// tally counts the losses of the current snapshot.
func (f *erasure) tally(ctx context.Context) error {
	s := f.current
	f.erased = Erased{Was: s.Manifest.Snapshot}
	r := f.w.read(s)
	n := &f.erased
	for _, file := range s.Manifest.FilesOf(schema.Calls.Name) {
		held := f.held[file.Path]
		if len(held) == 0 {
			continue
		}
		err := r.EachCall(ctx, file.Period, nil, func(call *calls.Call) error {
			if !held[string(call.ID())] {
				return nil
			}
			n.Calls++
			n.Turns += int64(call.Turns().Len())
			n.Items += int64(call.Items().Len())
			if r, _ := call.Recording(); r.State == schema.RecordingStored {
				n.Recordings++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, of := range personalResources {
		err := r.EachObject(of, func(o *schema.Object) error {
			forgot := of.Forgot(of.KeyOf(o.Row), func(id string) bool {
				f.known[id] = f.known[id] || f.ids[id]
				return f.ids[id]
			})
			switch {
			case forgot && of.OfCall == "":
				n.Customers++
			case forgot:
				n.Rows++
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// personalResources are the resources whose objects are people, or are about calls.
var personalResources = slices.DeleteFunc(slices.Clone(resource.All),
	func(r *resource.Resource) bool { return len(r.Contact) == 0 && r.OfCall == "" })

// findPeople adds the selected customers of all snapshots. A shared file is read once.
func (f *erasure) findPeople(ctx context.Context, sel Selection) error {
	for _, key := range sel.Customers {
		f.ids[key] = true
	}
	if len(f.numbers) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range f.all {
		r := f.w.read(s)
		for _, of := range personalResources {
			file := r.File(of.Table.Name, "")
			if len(of.Contact) == 0 || file == nil || seen[file.Path] {
				continue
			}
			seen[file.Path] = true
			err := r.EachObject(of, func(o *schema.Object) error {
				texts := contacts(of, o)
				for i := range f.numbers {
					if n := &f.numbers[i]; slices.ContainsFunc(texts, n.is) {
						key := of.KeyOf(o.Row)
						f.ids[key], n.customers[key] = true, true
					}
				}
				return ctx.Err()
			})
			if err := f.ignoreRemoved(ctx, s, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// contacts returns all texts in the columns with contact data.
func contacts(of *resource.Resource, o *schema.Object) (texts []string) {
	for _, name := range of.Contact {
		d := json.NewDecoder(bytes.NewReader(schema.TextOf(o.Row[of.Table.Column(name)])))
		d.UseNumber()
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			texts = append(texts, fmt.Sprint(token))
		}
	}
	return texts
}

// Mention is a row of another call or object that contains a forgotten id or number. forget does not change it.
type Mention struct {
	Table  string `json:"table"`
	Column string `json:"column"`
	ID     string `json:"id"` // of the call or object
}

// maxMentions is how many mentions a receipt lists; the rest are counted.
const maxMentions = 1000

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
			if f.mentioned++; len(f.mentions) < maxMentions {
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
