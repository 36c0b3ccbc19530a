package verify

import (
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// tallyCheck recounts the calls of a period to compare them with its tallies.
type tallyCheck struct {
	v        *verifier
	files    map[*schema.Table]*tableCheck
	counts   *calls.Tallies
	reported map[*schema.Table]bool // already reported
}

func newTallyCheck(v *verifier) *tallyCheck {
	t := &tallyCheck{v: v, files: map[*schema.Table]*tableCheck{}, reported: map[*schema.Table]bool{}}
	t.counts = calls.NewTallies(t.row)
	return t
}

// row compares a row with the one in the file.
func (t *tallyCheck) row(table *schema.Table, want parquet.Row) error {
	c := t.files[table]
	if c == nil || !c.r.Current {
		return nil
	}
	got, err := c.next(t.v)
	if err == nil && (got == nil || !c.r.Row.Same(got, want)) {
		t.bad(table, "its row %d differs from the sum of the calls", c.counted.Rows)
	}
	return err
}

// bad reports a file once: one more call shifts all rows.
func (t *tallyCheck) bad(table *schema.Table, format string, args ...any) {
	if !t.reported[table] {
		t.reported[table] = true
		t.v.bad.Add("tally", t.files[table].at, format, args...)
	}
}

// add counts a call.
func (t *tallyCheck) add(call *calls.Call) error {
	if len(t.files) == 0 {
		return nil
	}
	return t.counts.Add(call)
}

// end compares the last rows.
func (t *tallyCheck) end() error {
	if len(t.files) == 0 {
		return nil
	}
	if err := t.counts.Close(); err != nil {
		return err
	}
	for table, c := range t.files {
		if !c.r.Current { // counted by other columns: nothing reads it
			c.counted.Rows = c.listed.Rows
			continue
		}
		if t.counts.GivenUp(table) {
			t.bad(table, "its calls have too many kinds to be counted")
		}
		for {
			row, err := c.next(t.v)
			if err != nil {
				return err
			}
			if row == nil {
				break
			}
			t.bad(table, "its row %d differs from the sum of the calls", c.counted.Rows)
		}
	}
	return nil
}
