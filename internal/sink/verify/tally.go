package verify

import (
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/calls/tally"
	"callhouse/internal/schema"
	"callhouse/internal/schema/columnar"
	"callhouse/internal/sink/table"
)

// tallyCheck derives rows from a period's calls again, and compares them with the rows in its
// files: tool calls, and tallies.
type tallyCheck struct {
	v        *verifier
	files    map[*schema.Table]*tableCheck
	calls    *tableCheck
	tools    calls.ToolRows         // of the call being added
	counts   *tally.Tallies         // nil: there are none
	reported map[*schema.Table]bool // already reported
}

func newTallyCheck(v *verifier, files map[string]*tableCheck) *tallyCheck {
	t := &tallyCheck{v: v, files: map[*schema.Table]*tableCheck{}, calls: files[schema.Calls.Name], reported: map[*schema.Table]bool{}}
	for _, of := range schema.Derived {
		if c := files[of.Name]; c != nil {
			t.files[of] = c
		}
	}
	if slices.ContainsFunc(schema.TallyTables, func(of *schema.Table) bool { return t.files[of] != nil }) {
		tables := slices.Clone(schema.TalliesOf(t.calls.listed.Period))
		for of := range t.files { // other builds may have written others
			tables = append(tables, of)
		}
		t.counts = tally.NewTallies(tables, t.row)
	}
	return t
}

// row compares a row with the next one in the file.
func (t *tallyCheck) row(of *schema.Table, want parquet.Row) error {
	c := t.files[of]
	if c == nil && of == &schema.ToolCalls && !t.reported[of] {
		t.reported[of] = true
		t.v.bad.Add("figures", t.calls.at, "the manifest names no file of its tool calls")
	}
	if c == nil {
		return nil
	}
	got, err := c.next(t.v)
	if got != nil {
		table.Span(&c.counted, c.start(got))
	}
	if err == nil && (got == nil || !columnar.SameRow(of, got, want)) {
		t.differs(of)
	}
	return err
}

// differs reports that the last row read is not the one derived from the calls.
func (t *tallyCheck) differs(of *schema.Table) {
	t.bad(of, "its row %d differs from what its calls give", t.files[of].counted.Rows)
}

// bad reports a file only once, since one additional call shifts all rows.
func (t *tallyCheck) bad(table *schema.Table, format string, args ...any) {
	if !t.reported[table] {
		t.reported[table] = true
		t.v.bad.Add("tally", t.files[table].at, format, args...)
	}
}

// add adds a call whose tool calls are in tools.
func (t *tallyCheck) add(call *calls.Call) error {
	err := t.tools.Each(call, func(row schema.Row) error {
		if t.counts != nil {
			t.counts.AddTool(row)
		}
		return t.row(&schema.ToolCalls, row)
	})
	if err != nil || t.counts == nil {
		return err
	}
	return t.counts.Add(call)
}

// end compares the last rows.
func (t *tallyCheck) end() error {
	if t.counts != nil {
		if err := t.counts.Close(); err != nil {
			return err
		}
	}
	for of, c := range t.files {
		if t.counts != nil && t.counts.GivenUp(of) {
			t.bad(of, "its calls have too many kinds to be counted")
		}
		for {
			row, err := c.next(t.v)
			if err != nil {
				return err
			}
			if row == nil {
				break
			}
			t.differs(of)
		}
	}
	return nil
}
