package schema

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// RowReader turns the rows of one file back into calls, turns, items and runs.
// It knows which of the file's columns is which of the table's: by field id,
// or by name where the file carries no field ids. So it reads files that were
// written with fewer columns (the missing ones are null or zero), in another
// order, with more of them (which it skips), or by an older version, with
// instants in milliseconds and decimals of fewer places.
type RowReader struct {
	table  *Table
	leaves []leaf
	lacks  *Lacking
}

// leaf is a column of a file.
type leaf struct {
	to       int   // its position in table.Columns, or -1
	perMilli int64 // of an instant: how many of its units are a millisecond
	places   int   // of a decimal
	known    bool  // it is of the table, or was in an older version
}

// NewRowReader returns a reader for files of the given schema. It refuses a
// file in which a column cannot be what the table declares, or which lacks the
// table's first column, its key.
func NewRowReader(file *parquet.Schema, t *Table) (*RowReader, error) {
	r := &RowReader{table: t}
	keyed := false
	for _, f := range file.Fields() {
		if !f.Leaf() || f.Repeated() {
			return nil, fmt.Errorf("read %s: the column %s is nested or repeated", t.Name, f.Name())
		}
		l := leaf{to: t.find(f)}
		if l.to < 0 {
			l.known = f.Name() == Month
		} else if l.known = l.fit(f.Type(), t.Columns[l.to].Type); !l.known {
			return nil, fmt.Errorf("read %s: the column %s is %v in the file, not %v", t.Name, f.Name(), f.Type(), leafOf(&t.Columns[l.to]).Type())
		}
		keyed = keyed || l.to == 0
		r.leaves = append(r.leaves, l)
	}
	if !keyed {
		return nil, fmt.Errorf("read %s: the file has no column %s", t.Name, t.Columns[0].Name)
	}
	r.lacks = r.lacking()
	return r, nil
}

// fit says whether a column of a file can be read as one of type t, and notes how.
func (l *leaf) fit(is parquet.Type, t Type) bool {
	logical := is.LogicalType()
	switch t {
	case Timestamp:
		if logical == nil {
			return false
		}
		of, ok := logical.Value.(*format.TimestampType)
		if !ok || is.Kind() != parquet.Int64 {
			return false
		}
		switch of.Unit.Value.(type) {
		case *format.MilliSeconds:
			l.perMilli = 1
		case *format.MicroSeconds:
			l.perMilli = micros
		}
		return l.perMilli > 0
	case Exact:
		if logical == nil {
			return false
		}
		of, ok := logical.Value.(*format.DecimalType)
		if !ok || of.Scale < 0 || of.Scale > exactPlaces {
			return false
		}
		l.places = int(of.Scale)
		return is.Kind() == parquet.Int64 || is.Kind() == parquet.FixedLenByteArray && is.Length() == exactBytes && l.places == exactPlaces
	}
	return is.Kind() == leafOf(&Column{Type: t}).Type().Kind()
}

// Unknown returns the columns of the file that this program does not know: a
// later one wrote it.
func (r *RowReader) Unknown(file *parquet.Schema) (names []string) {
	for i, f := range file.Fields() {
		if !r.leaves[i].known {
			names = append(names, f.Name())
		}
	}
	return names
}

// Has says whether the file has a column of the table.
func (r *RowReader) Has(column int) bool {
	return slices.ContainsFunc(r.leaves, func(l leaf) bool { return l.to == column })
}

// Millis returns an instant in milliseconds: a value of the file's column at
// position leaf.
func (r *RowReader) Millis(leaf int, v parquet.Value) int64 {
	return floorDiv(v.Int64(), max(r.leaves[leaf].perMilli, 1))
}

func floorDiv(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

func (r *RowReader) instant(v parquet.Value) Opt[int64] { return Some(r.Millis(v.Column(), v)) }

// decimal returns a number of a column of type Exact.
func (r *RowReader) decimal(v parquet.Value) Opt[Decimal] {
	if v.Kind() == parquet.Int64 {
		return Some(DecimalFrom(v.Int64(), r.leaves[v.Column()].places))
	}
	return Some(decimalIn(v.ByteArray()))
}

// Same says whether a row of the file is what a row as it is written today
// says, in all columns that the file has.
func (r *RowReader) Same(row, today parquet.Row) bool {
	for _, v := range row {
		col, err := r.column(v)
		if err != nil {
			return false
		}
		if col < 0 {
			continue
		}
		if !v.IsNull() {
			switch r.table.Columns[col].Type {
			case Timestamp:
				v = parquet.Int64Value(r.Millis(v.Column(), v) * micros)
			case Exact:
				v = parquet.FixedLenByteArrayValue(r.decimal(v).V.append16(nil))
			}
		}
		if !sameValue(r.table.Columns[col].Type, v, today[col]) {
			return false
		}
	}
	return true
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
	*c = Call{Turns: c.Turns[:0], Items: c.Items[:0], Lacks: r.lacks}
	for _, v := range row {
		col, err := r.column(v)
		if err != nil {
			return err
		}
		if col < 0 || v.IsNull() {
			continue
		}
		if err := r.setCall(c, col, v); err != nil {
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
			t.StartAt = r.instant(v)
		case 5:
			t.EndAt = r.instant(v)
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
	if at < 0 || at >= len(r.leaves) {
		return 0, fmt.Errorf("read %s: a row has a value for column %d of %d", r.table.Name, at, len(r.leaves))
	}
	return r.leaves[at].to, nil
}

func (r *RowReader) setCall(c *Call, col int, v parquet.Value) (err error) {
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
		c.StartAt = r.instant(v)
	case 10:
		c.EndAt = r.instant(v)
	case 11:
		c.DurationMS = Some(v.Int64())
	case 12:
		c.TotalCost = r.decimal(v)
	case 13:
		c.CreditsUsed = r.decimal(v)
	case 14:
		c.BilledSeconds = r.decimal(v)
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
		c.FirstSeenAt = r.instant(v).V
	case 29:
		c.FetchedAt = r.instant(v).V
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
