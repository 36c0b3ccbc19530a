package verify

import (
	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/schema/columnar"
	"callhouse/internal/sink/table"
)

// toolCheck derives the tool calls of a period's calls again, and compares them with the rows in
// their file.
type toolCheck struct {
	v        *verifier
	file     *tableCheck // nil: there is none
	calls    *tableCheck
	tools    calls.ToolRows // of the call being added
	reported bool           // reported once, since one additional call shifts all rows
}

// add compares the tool calls of a call, which are in tools.
func (t *toolCheck) add(call *calls.Call) error {
	return t.tools.Each(call, t.row)
}

// row compares a row with the next one in the file.
func (t *toolCheck) row(want schema.Row) error {
	if t.file == nil {
		if !t.reported {
			t.reported = true
			t.v.bad.Add("figures", t.calls.at, "the manifest names no file of its tool calls")
		}
		return nil
	}
	got, err := t.file.next(t.v)
	if got != nil {
		table.Span(&t.file.counted, t.file.start(got))
	}
	if err == nil && (got == nil || !columnar.SameRow(&schema.ToolCalls, got, want)) {
		t.differs()
	}
	return err
}

// differs reports that the last row read is not the one derived from the calls.
func (t *toolCheck) differs() {
	if !t.reported {
		t.reported = true
		t.v.bad.Add("tool", t.file.at, "its row %d differs from what its calls give", t.file.counted.Rows)
	}
}

// end compares the last rows.
func (t *toolCheck) end() error {
	if t.file == nil {
		return nil
	}
	for {
		row, err := t.file.next(t.v)
		if row == nil || err != nil {
			return err
		}
		t.differs()
	}
}
