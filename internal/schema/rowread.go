package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// RowReader turns the rows of one file back into calls, turns, items and runs.
// It knows which of the file's columns is which of the table's: by field id,
// or by name where the file carries no field ids. So it reads files that were
// written with fewer columns (the missing ones are null or zero), in another
// order, or with more of them (which it skips).
type RowReader struct {
	table *Table
	to    []int // per leaf of the file: position in table.Columns, or -1
}

// NewRowReader returns a reader for files of the given schema. It refuses a
// file in which a column has another physical type than the table declares, or
// which lacks the table's first column, its key.
func NewRowReader(file *parquet.Schema, t *Table) (*RowReader, error) {
	r := &RowReader{table: t}
	keyed := false
	for _, f := range file.Fields() {
		if !f.Leaf() || f.Repeated() {
			return nil, fmt.Errorf("read %s: the column %s is nested or repeated", t.Name, f.Name())
		}
		at := t.find(f)
		if at >= 0 {
			if got, want := f.Type().Kind(), leafOf(&t.Columns[at]).Type().Kind(); got != want {
				return nil, fmt.Errorf("read %s: the column %s is %v in the file, not %v", t.Name, f.Name(), got, want)
			}
		}
		keyed = keyed || at == 0
		r.to = append(r.to, at)
	}
	if !keyed {
		return nil, fmt.Errorf("read %s: the file has no column %s", t.Name, t.Columns[0].Name)
	}
	return r, nil
}

func (t *Table) find(f parquet.Field) int {
	if f.ID() == 0 {
		return t.Column(f.Name())
	}
	for i := range t.Columns {
		if t.Columns[i].ID == f.ID() {
			return i
		}
	}
	return -1
}

// Call fills c from a row of calls. Turns and Items are emptied, everything
// else is overwritten. Byte slices alias the row's values: Clone what is to
// outlive the reader's buffers.
func (r *RowReader) Call(row parquet.Row, c *Call) error {
	*c = Call{Turns: c.Turns[:0], Items: c.Items[:0]}
	for _, v := range row {
		col, err := r.column(v)
		if err != nil {
			return err
		}
		if col < 0 || v.IsNull() {
			continue
		}
		if err := setCall(c, col, v); err != nil {
			return fmt.Errorf("read %s: %w", r.table.Name, err)
		}
	}
	return nil
}

// Turn fills t from a row of transcript_turns, and returns which call's and
// which turn it is. Byte slices alias the row's values.
func (r *RowReader) Turn(row parquet.Row, t *Turn) (callID []byte, turn int32, err error) {
	*t = Turn{}
	for _, v := range row {
		col, err := r.column(v)
		if err != nil {
			return nil, 0, err
		}
		if col < 0 || v.IsNull() {
			continue
		}
		switch col {
		case 0:
			callID = bytesOf(v)
		case 1:
			turn = v.Int32()
		case 2:
			t.Role = bytesOf(v)
		case 3:
			t.Content = bytesOf(v)
		case 4:
			t.StartAt = Some(v.Int64())
		case 5:
			t.EndAt = Some(v.Int64())
		case 6:
			t.ToolCallID = bytesOf(v)
		case 7:
			t.ToolName = bytesOf(v)
		case 8:
			t.Arguments = bytesOf(v)
		case 9:
			t.Extra = bytesOf(v)
		}
	}
	return callID, turn, nil
}

// Item fills t from a row of analysis_items, and returns which call's and
// which item it is. Byte slices alias the row's values.
func (r *RowReader) Item(row parquet.Row, t *Item) (callID []byte, position int32, err error) {
	*t = Item{}
	for _, v := range row {
		col, err := r.column(v)
		if err != nil {
			return nil, 0, err
		}
		if col < 0 || v.IsNull() {
			continue
		}
		switch col {
		case 0:
			callID = bytesOf(v)
		case 1:
			position = v.Int32()
		case 2:
			t.Name = bytesOf(v)
		case 3:
			t.Type = bytesOf(v)
		case 4:
			t.Value = bytesOf(v)
		case 5:
			t.Extra = bytesOf(v)
		}
	}
	return callID, position, nil
}

// column returns the position in the table of a value's column, or -1.
func (r *RowReader) column(v parquet.Value) (int, error) {
	at := v.Column()
	if at < 0 || at >= len(r.to) {
		return 0, fmt.Errorf("read %s: a row has a value for column %d of %d", r.table.Name, at, len(r.to))
	}
	return r.to[at], nil
}

func setCall(c *Call, col int, v parquet.Value) (err error) {
	switch col {
	case 0:
		c.ID = bytesOf(v)
	case 1:
		c.AgentID = bytesOf(v)
	case 2:
		c.AgentVersion = bytesOf(v)
	case 3:
		c.CallType = bytesOf(v)
	case 4:
		c.Status = bytesOf(v)
	case 5:
		c.DisconnectionReason = bytesOf(v)
	case 6:
		c.FromNumber = bytesOf(v)
	case 7:
		c.ToNumber = bytesOf(v)
	case 8:
		c.PresentationNumber = bytesOf(v)
	case 9:
		c.StartAt = Some(v.Int64())
	case 10:
		c.EndAt = Some(v.Int64())
	case 11:
		c.DurationMS = Some(v.Int64())
	case 12:
		c.TotalCost = Some(v.Int64())
	case 13:
		c.CreditsUsed = Some(v.Int64())
	case 14:
		c.BilledSeconds = Some(v.Int64())
	case 15:
		c.Summary = bytesOf(v)
	case 16:
		c.UserSentiment = bytesOf(v)
	case 17:
		c.Evaluation = bytesOf(v)
	case 18:
		c.Metadata = bytesOf(v)
	case 19:
		c.DynamicVariables = bytesOf(v)
	case 20:
		c.VariantLabel = bytesOf(v)
	case 21:
		c.RecordingURL = bytesOf(v)
	case 22:
		c.OptOut = Some(v.Boolean())
	case 23:
		c.TurnCount = Some(v.Int32())
	case 24:
		c.TranscriptState, err = parseWord[TranscriptState](transcriptWords[:], v.ByteArray(), "transcript state")
	case 25:
		c.Settlement, err = parseWord[Settlement](settlementWords[:], v.ByteArray(), "settlement")
	case 26:
		c.Source, err = parseWord[Source](sourceWords[:], v.ByteArray(), "source")
	case 27:
		c.Extra = bytesOf(v)
	case 28:
		c.FirstSeenAt = v.Int64()
	case 29:
		c.FetchedAt = v.Int64()
	case 30:
		c.RunID = bytesOf(v)
	}
	return err
}

// bytesOf returns a value's bytes, which are never nil: nil is null.
func bytesOf(v parquet.Value) []byte {
	if b := v.ByteArray(); b != nil {
		return b
	}
	return []byte{}
}
