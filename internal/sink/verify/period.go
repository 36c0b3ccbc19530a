package verify

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/table"
)

// idSeed is the seed of the hashes by which call ids are compared over all files.
var idSeed = maphash.MakeSeed()

// period verifies the files of one period, or of runs.
func (v *verifier) period(ctx context.Context, s *layout.Snapshot, files []*layout.File) error {
	readable, anew := true, false
	for _, f := range files {
		fresh, sound, err := v.file(ctx, s, f)
		if err != nil {
			return err
		}
		readable, anew = readable && sound, anew || fresh
	}
	if !readable || !anew || table.ByName(files[0].Table) == nil {
		return nil
	}
	if files[0].Table == schema.Runs.Name {
		return v.runs(s, files[0])
	}
	err := v.rows(ctx, s, files)
	var damage *disk.DamageError
	if errors.As(err, &damage) {
		v.bad.Add("unreadable", v.rel(damage.Path), "%s", damage.What)
		return nil
	}
	return err
}

// tableCheck is one file while its rows are read.
type tableCheck struct {
	r       *table.Reader
	listed  *layout.File
	at      string
	key     int         // position of the call's start
	counted layout.File // figures counted from the rows
}

func (v *verifier) openCheck(s *layout.Snapshot, f *layout.File) (*tableCheck, error) {
	of := table.ByName(f.Table)
	r, err := table.Open(v.opts.FS, s.Path(f), of)
	if err != nil {
		return nil, err
	}
	c := &tableCheck{r: r, listed: f, at: v.rel(s.Path(f)), key: r.Column("start_at")}
	if of != &schema.Calls {
		c.key = r.Column("call_start_at")
	}
	return c, nil
}

// next returns the next row, and counts it.
func (c *tableCheck) next(v *verifier) (parquet.Row, error) {
	row, err := c.r.Next()
	if err != nil || row == nil {
		return nil, err
	}
	c.counted.Rows++
	return row, nil
}

// start returns the start of a row's call.
func (c *tableCheck) start(row parquet.Row) schema.Opt[int64] {
	if c.key < 0 {
		return schema.Opt[int64]{}
	}
	return schema.MillisOf(row[c.key])
}

// rows verifies the rows of a period or a resource, all its tables together.
func (v *verifier) rows(ctx context.Context, s *layout.Snapshot, files []*layout.File) (err error) {
	checks := map[string]*tableCheck{}
	defer func() {
		for _, c := range checks {
			err = errors.Join(err, c.r.Close())
		}
	}()
	for _, f := range files {
		c, err := v.openCheck(s, f)
		if err != nil {
			return err
		}
		checks[f.Table] = c
	}
	if files[0].Period == "" {
		err = v.whole(s, checks[files[0].Table], checks)
	} else if checks[schema.Calls.Name] != nil { // otherwise the check of the manifest reported it
		err = newPeriodCheck(v, checks).run(ctx)
	} else {
		return nil
	}
	for _, c := range checks {
		if err == nil {
			c.figures(v)
		}
	}
	return err
}

// periodCheck verifies the calls of a period.
type periodCheck struct {
	v     *verifier
	files map[string]*tableCheck
	calls *tableCheck
	tools *toolCheck
	ids   []uint64
}

func newPeriodCheck(v *verifier, files map[string]*tableCheck) *periodCheck {
	c := files[schema.Calls.Name]
	return &periodCheck{v: v, files: files, calls: c, tools: &toolCheck{v: v, file: files[schema.ToolCalls.Name], calls: c}}
}

func (p *periodCheck) run(ctx context.Context) error {
	in, err := table.OpenPeriod(nil, func(t *schema.Table) (*table.Reader, error) {
		if c := p.files[t.Name]; c != nil {
			return c.r, nil
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	call, last := new(calls.Call), new(calls.Call) // last is empty before the first row
	in.Stray = func(list int, row parquet.Row, of *schema.Object) bool {
		c := p.files[schema.CallResource.Lists[list].Name]
		id := string(row[c.r.Column("call_id")].ByteArray())
		if of != nil && table.CompareKey(c.start(row), id, call.StartAt(), string(call.ID())) > 0 {
			return false
		}
		p.v.bad.Add("reference", c.at, "a %s belongs to call %s, which is not in this file", kinds[list], id)
		c.counted.Rows++
		table.Span(&c.counted, c.start(row))
		return true
	}
	for {
		if more, err := in.Read(call); err != nil {
			return err
		} else if !more {
			break
		}
		if p.calls.counted.Rows++; p.calls.counted.Rows%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if last.Row != nil {
			p.order(last, call)
		}
		p.call(call)
		if err := p.tools.add(call); err != nil {
			return err
		}
		p.ids = append(p.ids, maphash.Bytes(idSeed, call.ID()))
		if p.v.progress != nil {
			p.v.progress(1)
		}
		call, last = last, call
	}
	if err := p.tools.end(); err != nil {
		return err
	}
	p.v.seen.keepIDs(p.calls.listed.Path, p.ids)
	return nil
}

func (p *periodCheck) order(last, call *calls.Call) {
	switch order := table.CompareKey(last.StartAt(), string(last.ID()), call.StartAt(), string(call.ID())); {
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
	if call.FirstSeenAt() > call.FetchedAt() {
		bad("times", "call %s was first seen (%d) after it was fetched (%d)", call.ID(), call.FirstSeenAt(), call.FetchedAt())
	}
	if p.v.tombstones.Forgot(string(call.ID())) {
		bad("forgotten", "a call in it was forgotten: %s", p.v.tombstones.Of(call.ID()))
	}
	if p.v.each != nil {
		p.v.each(p.calls.at, call)
	}
	for i := range call.Lists {
		p.list(i, call)
	}
	turns, items := call.Turns().Len(), call.Items().Len()
	if int32(turns) != call.TurnCount().V {
		bad("count", "call %s has %d turns, but turn_count %d", call.ID(), turns, call.TurnCount().V)
	}
	stored := slices.Clone(call.Row)
	call.Complete(p.tools.tools.Of(call))
	derived := call.Row
	call.Row = stored
	for _, col := range calls.Derived {
		c := &schema.Calls.Columns[col]
		if !schema.SameValue(c.Type, stored[col], derived[col]) {
			bad("count", "call %s: %s is %v, but %v by its transcript", call.ID(), c.Name, stored[col], derived[col])
		}
	}
	if call.OptedOut() && (turns > 0 || items > 0 || call.Keeps()) {
		bad("withheld", "call %s is opted out of storage, but has data that must not be stored", call.ID())
	}
	table.CountCall(&p.calls.counted, call)
}

// kinds are the names of the rows of a call's lists.
var kinds = []string{"turn", "item", "recording"}

// list verifies the rows of one of a call's lists.
func (p *periodCheck) list(i int, call *calls.Call) {
	of := schema.CallResource.Lists[i]
	started, fetched := of.Column("call_start_at"), of.Column("fetched_at")
	c := p.files[of.Name] // nil: there is no such file, and no rows
	bad := func(kind, format string, args ...any) { p.v.bad.Add(kind, c.at, format, args...) }
	for n := range call.Lists[i].Len() {
		row := call.Lists[i].At(n)
		start := schema.MillisOf(row[started])
		c.counted.Rows++
		table.Span(&c.counted, start)
		if start != call.StartAt() {
			bad("reference", "a %s of call %s says that the call started at %d, not %d", kinds[i], call.ID(), start.V, call.StartAt().V)
		}
		if of == &schema.Recordings {
			p.recording(c, call, n)
			continue
		}
		if at := schema.MillisOf(row[fetched]); at.V != call.FetchedAt() {
			bad("reference", "a %s of call %s says that it was fetched at %d, not %d", kinds[i], call.ID(), at.V, call.FetchedAt())
		}
		if number := row[1].Int32(); int(number) != n {
			bad("gap", "%s %d of call %s has the number %d", kinds[i], n, call.ID(), number)
		}
	}
}

// recording verifies the n-th row of recordings of a call.
func (p *periodCheck) recording(c *tableCheck, call *calls.Call, n int) {
	bad := func(kind, format string, args ...any) { p.v.bad.Add(kind, c.at, format, args...) }
	if n > 0 {
		bad("twice", "call %s has a second recording", call.ID())
		return
	}
	table.CountRecording(&c.counted, call)
	switch r, _ := call.Recording(); {
	case !r.Known():
		bad("recording", "the recording of call %s has the state %q", call.ID(), r.State)
	case r.State == schema.RecordingStored && (r.Path == "" || r.SHA256 == ""):
		bad("recording", "the recording of call %s is stored, but has no path or checksum", call.ID())
	case call.OptedOut() && r.State != schema.RecordingWithheld:
		bad("withheld", "call %s is opted out of storage, but its recording is %s", call.ID(), r.State)
	}
}

// figures compares the figures in the manifest with the content of the file.
func (c *tableCheck) figures(v *verifier) {
	if c.counted.Rows != c.listed.Rows {
		v.bad.Add("rows", c.at, "it has %d rows, the manifest says %d", c.counted.Rows, c.listed.Rows)
	}
	if what := differ(c.listed, &c.counted); what != "" {
		v.bad.Add("figures", c.at, "the manifest's figures differ from its rows: %s", what)
	}
}
