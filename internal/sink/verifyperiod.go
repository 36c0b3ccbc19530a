package sink

import (
	"context"
	"errors"
	"hash/maphash"
	"strings"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// idSeed is the seed of the hashes by which call ids are compared over all files.
var idSeed = maphash.MakeSeed()

// period verifies the files of one period, or of runs.
func (v *verifier) period(ctx context.Context, s *layout.Snapshot, files []*layout.File) error {
	readable := true
	for _, f := range files {
		readable = v.file(s, f) && readable
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if !readable || tableByName(files[0].Table) == nil {
		return nil
	}
	if files[0].Table == schema.Runs.Name {
		return v.runs(s, files[0])
	}
	err := v.rows(ctx, s, files)
	var damage *layout.DamageError
	if errors.As(err, &damage) {
		v.bad.Add("unreadable", v.rel(damage.Path), "%s", damage.What)
		return nil
	}
	return err
}

// tableCheck is one file while its rows are read.
type tableCheck struct {
	*tableReader
	listed *layout.File
	at     string
	rows   int64 // read so far
}

// rows verifies the rows of a period or a resource, all its tables together.
func (v *verifier) rows(ctx context.Context, s *layout.Snapshot, files []*layout.File) (err error) {
	checks := map[string]*tableCheck{}
	defer func() {
		for _, c := range checks {
			err = errors.Join(err, c.Close())
		}
	}()
	for _, f := range files {
		r, err := openTable(v.opts.FS, s.Path(f), tableByName(f.Table))
		if err != nil {
			return err
		}
		checks[f.Table] = &tableCheck{tableReader: r, listed: f, at: v.rel(s.Path(f))}
	}
	if files[0].Period == "" {
		err = v.whole(s, checks[files[0].Table])
	} else if checks[schema.Calls.Name] != nil { // otherwise the check of the manifest reported it
		err = (&periodCheck{v: v, files: checks, calls: checks[schema.Calls.Name]}).run(ctx)
		if tools := checks[schema.ToolCalls.Name]; tools != nil && err == nil {
			err = tools.count()
		}
	} else {
		return nil
	}
	for _, c := range checks {
		if err == nil && c.rows != c.listed.Rows {
			v.bad.Add("rows", c.at, "it has %d rows, the manifest says %d", c.rows, c.listed.Rows)
		}
	}
	return err
}

// count counts the rows of a file that was not read otherwise.
func (c *tableCheck) count() error { return c.All(func(parquet.Row) error { c.rows++; return nil }) }

// whole verifies the file of a table without periods.
func (v *verifier) whole(s *layout.Snapshot, c *tableCheck) error {
	if err := c.count(); err != nil {
		return err
	}
	if of := resource.ByName(c.listed.Table); of != nil {
		return v.objects(s, of, c.at)
	}
	return nil
}

// objects verifies the order of a resource's objects, and that none was forgotten.
func (v *verifier) objects(s *layout.Snapshot, of *resource.Resource, at string) error {
	last, first := "", true
	err := NewReader(v.opts.FS, s, nil).EachObject(of, func(o *schema.Object) error {
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
	var damage *layout.DamageError
	if errors.As(err, &damage) {
		v.bad.Add("reference", v.rel(damage.Path), "%s", damage.What)
		return nil
	}
	return err
}

// periodCheck verifies the calls of a period.
type periodCheck struct {
	v     *verifier
	files map[string]*tableCheck
	calls *tableCheck
}

func (p *periodCheck) run(ctx context.Context) error {
	in, err := openObjects(schema.CallResource, isCallID, func(t *schema.Table) (*tableReader, error) {
		if c := p.files[t.Name]; c != nil {
			return c.tableReader, nil
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	call, last := new(calls.Call), new(calls.Call) // last is empty before the first row
	in.Skip = func(list int, row parquet.Row, of *schema.Object) bool {
		c := p.files[schema.CallResource.Lists[list].Name]
		id := string(row[c.Column("call_id")].ByteArray())
		start := schema.MillisOf(row[c.Column("call_start_at")])
		if of != nil && compareKey(start, id, call.StartAt(), string(call.ID())) > 0 {
			return false
		}
		p.v.bad.Add("reference", c.at, "a %s belongs to call %s, which is not in this file", listKinds[list], id)
		c.rows++
		return true
	}
	for {
		if more, err := in.ReadCall(call); err != nil {
			return err
		} else if !more {
			break
		}
		if p.calls.rows++; p.calls.rows%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if last.Row != nil {
			p.order(last, call)
		}
		p.call(call)
		if p.v.progress != nil {
			p.v.progress(1)
		}
		call, last = last, call
	}
	return nil
}

func (p *periodCheck) order(last, call *calls.Call) {
	switch order := compareKey(last.StartAt(), string(last.ID()), call.StartAt(), string(call.ID())); {
	case order == 0:
		p.v.bad.Add("twice", p.calls.at, "call %s is in it twice", call.ID())
	case order > 0:
		p.v.bad.Add("order", p.calls.at, "call %s comes after %s", call.ID(), last.ID())
	}
}

// call verifies one call, with its turns and items.
func (p *periodCheck) call(call *calls.Call) {
	bad := func(kind, format string, args ...any) { p.v.bad.Add(kind, p.calls.at, format, args...) }
	if day := layout.Day(call.Began()); !strings.HasPrefix(day, p.calls.listed.Period) {
		bad("period", "call %s belongs to %s", call.ID(), day)
	}
	if other := p.v.place(call.ID(), p.calls.at); other != p.calls.at {
		bad("twice", "call %s is also in %s", call.ID(), other)
	}
	if p.v.tombstones.Forgot(string(call.ID())) {
		bad("forgotten", "a call in it was forgotten: %s", p.v.tombstones.Of(call.ID()))
	}
	for i := range call.Lists {
		p.list(i, call)
	}
	turns, items := call.Turns().Len(), call.Items().Len()
	if int32(turns) != call.TurnCount().V {
		bad("count", "call %s has %d turns, but turn_count %d", call.ID(), turns, call.TurnCount().V)
	}
	if r, _ := call.Recording(); call.OptedOut() && (turns > 0 || items > 0 || call.HasWithheld() || r.State == schema.RecordingStored) {
		bad("withheld", "call %s is opted out of storage, but has data that must not be stored", call.ID())
	}
}

// place returns the file in which a call was found first: at, unless it was found before. Ids are
// compared by their hashes, of which no two among ten million are equal by chance.
func (v *verifier) place(id []byte, at string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := maphash.Bytes(idSeed, id)
	if first, ok := v.ids[h]; ok {
		return first
	}
	v.ids[h] = at
	return at
}

// listKinds are the names of the rows of a call's lists.
var listKinds = []string{"turn", "item", "recording"}

// list verifies the rows of one of a call's lists.
func (p *periodCheck) list(i int, call *calls.Call) {
	of := schema.CallResource.Lists[i]
	started := of.Column("call_start_at")
	c := p.files[of.Name] // nil: there is no such file, and no rows
	for n := range call.Lists[i].Len() {
		row := call.Lists[i].At(n)
		c.rows++
		if start := schema.MillisOf(row[started]); start != call.StartAt() {
			p.v.bad.Add("reference", c.at, "a %s of call %s says that the call started at %d, not %d",
				listKinds[i], call.ID(), start.V, call.StartAt().V)
		}
		switch {
		case of == &schema.Recordings && n > 0:
			p.v.bad.Add("twice", c.at, "call %s has a second recording", call.ID())
		case of != &schema.Recordings && int(row[1].Int32()) != n:
			p.v.bad.Add("gap", c.at, "%s %d of call %s has the number %d", listKinds[i], n, call.ID(), row[1].Int32())
		}
	}
}
