package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
		c.key = r.Column("call_start_at") // tallies have none
	}
	if f.Format > 0 && f.Format != r.Version {
		v.bad.Add("version", c.at, "it has format version %d, the manifest says %d", r.Version, f.Format)
	}
	if r.Unfetched {
		v.report.Notes = append(v.report.Notes, fmt.Sprintf(
			"fetched_at is 1970 in %s, which an earlier version compacted: run extract migrate", c.at))
	}
	v.columns(s, c)
	return c, nil
}

// columns verifies the columns of a file: those of its format version, and any later ones that the
// manifest lists.
func (v *verifier) columns(s *layout.Snapshot, c *tableCheck) {
	if c.r.Version != layout.FormatVersion {
		return
	}
	table := table.ByName(c.listed.Table)
	later := map[string]bool{}
	for _, col := range slices.Concat(s.Manifest.Columns, layout.Columns()) {
		later[col.Name] = later[col.Name] || col.Table == table.Name
	}
	for i, col := range table.Columns {
		if !c.r.Row.Has(i) && !later[col.Name] {
			v.bad.Add("columns", c.at, "it lacks the column %s", col.Name)
		}
	}
	for _, name := range c.r.Unknown {
		if !later[name] {
			v.bad.Add("columns", c.at, "its column %s is none that the manifest knows", name)
		}
	}
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
	return c.r.Instant(c.key, row[c.key])
}

// rows verifies the rows of a period or of a resource, all tables together.
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
	} else if checks[schema.Calls.Name] != nil { // otherwise the manifest's check reported it
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
	v            *verifier
	calls        *tableCheck
	turns, items childCheck
	tallies      *tallyCheck
	ids          []uint64
}

func newPeriodCheck(v *verifier, checks map[string]*tableCheck) *periodCheck {
	child := func(kind string, of *schema.Table) childCheck {
		return childCheck{tableCheck: checks[of.Name], kind: kind, fetchedAt: of.Column("fetched_at")}
	}
	p := &periodCheck{v: v, calls: checks[schema.Calls.Name], tallies: newTallyCheck(v),
		turns: child("turn", &schema.Turns), items: child("item", &schema.Items)}
	for _, of := range schema.TallyTables {
		if c := checks[of.Name]; c != nil {
			p.tallies.files[of] = c
		}
	}
	return p
}

func (p *periodCheck) run(ctx context.Context) error {
	if err := errors.Join(p.turns.advance(p.v), p.items.advance(p.v)); err != nil {
		return err
	}
	call, last := new(calls.Call), new(calls.Call) // last has no row before the first one
	for {
		row, err := p.calls.next(p.v)
		if err == nil && p.calls.counted.Rows%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if err := p.calls.r.Call(row, call); err != nil {
			return err
		}
		if last.Row != nil {
			p.order(last, call)
		}
		if err := p.call(call); err != nil {
			return err
		}
		if err := p.tallies.add(call); err != nil {
			return err
		}
		p.ids = append(p.ids, maphash.Bytes(idSeed, call.ID()))
		if p.v.progress != nil {
			p.v.progress(1)
		}
		call, last = last, call
	}
	for _, c := range []*childCheck{&p.turns, &p.items} {
		if err := c.rest(p.v); err != nil {
			return err
		}
	}
	if err := p.tallies.end(); err != nil {
		return err
	}
	p.v.seen.keepIDs(p.calls.listed.Path, p.ids)
	return nil
}

func (p *periodCheck) order(last, call *calls.Call) {
	switch order := table.CompareKey(last.StartAt(), string(last.ID()), call.StartAt(), string(call.ID())); {
	case order == 0:
		p.v.bad.Add("twice", p.calls.at, "call %s stands there twice", call.ID())
	case order > 0:
		p.v.bad.Add("order", p.calls.at, "call %s stands behind %s", call.ID(), last.ID())
	}
}

// blankVersion is the lowest format version whose user_turns ignore turns of any white space:
// earlier ones only recognised ASCII white space.
const blankVersion = 3

// call verifies one call, with its turns and items.
func (p *periodCheck) call(call *calls.Call) error {
	bad := func(kind, format string, args ...any) { p.v.bad.Add(kind, p.calls.at, format, args...) }
	since := call.FirstSeenAt()
	if call.StartAt().OK {
		since = call.StartAt().V
	}
	if day := layout.Day(since); !strings.HasPrefix(day, p.calls.listed.Period) {
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
	turns, err := p.turns.of(p.v, call)
	if err != nil {
		return err
	}
	items, err := p.items.of(p.v, call)
	if err != nil {
		return err
	}
	if int32(turns) != call.TurnCount().V {
		bad("count", "call %s has %d turns, and says %d", call.ID(), turns, call.TurnCount().V)
	}
	derived := call.Copy()
	derived.Complete()
	for _, col := range calls.Derived {
		c := &schema.Calls.Columns[col]
		if !p.calls.r.Row.Has(col) || c.Name == "user_turns" && p.calls.r.Version < blankVersion {
			continue
		}
		if !schema.SameValue(c.Type, call.Row[col], derived.Row[col]) {
			bad("count", "call %s: %s is %v; its transcript says %v", call.ID(), c.Name, call.Row[col], derived.Row[col])
		}
	}
	if call.OptedOut() && (turns > 0 || items > 0 || call.Keeps()) {
		bad("withheld", "call %s is opted out of storage, and has what must not be kept", call.ID())
	}
	table.CountCall(&p.calls.counted, call)
	return nil
}

// figures compares the figures in the manifest with the content of the file.
func (c *tableCheck) figures(v *verifier) {
	if c.counted.Rows != c.listed.Rows {
		v.bad.Add("rows", c.at, "it has %d rows, the manifest says %d", c.counted.Rows, c.listed.Rows)
	}
	if what := differ(c.listed, &c.counted); what != "" {
		v.bad.Add("figures", c.at, "the manifest's figures are not those of its rows: %s", what)
	}
}

// childCheck is a file of rows that belong to calls.
type childCheck struct {
	*tableCheck // nil: the period has no such file
	kind        string
	row         parquet.Row // read, not yet taken
	id          []byte
	n           int32
	fetchedAt   int               // its column
	fetched     schema.Opt[int64] // null if an earlier version wrote it
	rows        schema.Rows
}

func (c *childCheck) advance(v *verifier) (err error) {
	c.row, c.id = nil, nil
	if c.tableCheck == nil {
		return nil
	}
	if c.row, err = c.next(v); err != nil || c.row == nil {
		return err
	}
	c.rows.Empty(table.ByName(c.listed.Table))
	if err := c.r.Row.Add(c.row, &c.rows); err != nil {
		return err
	}
	row := c.rows.At(0)
	c.fetched = schema.MillisOf(row[c.fetchedAt])
	c.id, c.n = row[0].ByteArray(), row[1].Int32()
	return nil
}

// of counts the rows of a call, and adds its turns to it. Rows before them belong to no call.
func (c *childCheck) of(v *verifier, call *calls.Call) (n int, err error) {
	for c.row != nil {
		if !bytes.Equal(c.id, call.ID()) {
			if table.CompareKey(c.start(c.row), string(c.id), call.StartAt(), string(call.ID())) > 0 {
				return n, nil
			}
			v.bad.Add("reference", c.at, "a %s of call %s stands where no such call is", c.kind, c.id)
		} else {
			if at := c.start(c.row); at != call.StartAt() {
				v.bad.Add("reference", c.at, "a %s of call %s says that the call started at %d, not %d", c.kind, c.id, at.V, call.StartAt().V)
			}
			if at := c.fetched; at.OK && at.V != call.FetchedAt() && (at.V != 0 || !c.r.Unfetched) {
				v.bad.Add("reference", c.at, "a %s of call %s says that it was fetched at %d, not %d", c.kind, c.id, at.V, call.FetchedAt())
			}
			if int(c.n) != n {
				v.bad.Add("gap", c.at, "%s %d of call %s has the number %d", c.kind, n, c.id, c.n)
			}
			if n++; c.kind == "turn" {
				copy(call.Turns().Add(), c.rows.At(0))
			}
		}
		table.Span(&c.counted, c.start(c.row))
		if err := c.advance(v); err != nil {
			return n, err
		}
	}
	return n, nil
}

// rest reports the rows after those of the last call.
func (c *childCheck) rest(v *verifier) error {
	for c.row != nil {
		v.bad.Add("reference", c.at, "a %s of call %s stands where no such call is", c.kind, c.id)
		table.Span(&c.counted, c.start(c.row))
		if err := c.advance(v); err != nil {
			return err
		}
	}
	return nil
}
