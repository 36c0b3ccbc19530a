package schema

import "github.com/parquet-go/parquet-go"

// Vectors take the rows of one file of a table, a column at a time. They belong
// to one Parquet writer at a time, which must be made with their Schema; once it
// is closed without an error they may serve another.
type Vectors struct {
	cols   []vector
	schema *parquet.Schema
	bytes  int64 // of values, since the row group was begun
}

// NewVectors returns vectors for a file of a table.
func NewVectors(t *Table) *Vectors {
	vs := &Vectors{cols: make([]vector, len(t.Columns))}
	vs.schema = parquetSchema(t, func(i int, leaf parquet.Node) parquet.Node {
		v := &vs.cols[i]
		v.bytes = &vs.bytes
		v.required, v.shape = t.Columns[i].Required, shapeOf(leaf.Type().Kind())
		if v.reset(); v.shape == shapeBool {
			return leaf
		}
		return &vectorNode{leaf, &vectorType{leaf.Type(), v}}
	})
	return vs
}

// Schema returns the schema of the table, for the file's writer.
func (vs *Vectors) Schema() *parquet.Schema { return vs.schema }

// Begin begins a row group with its column writers.
func (vs *Vectors) Begin(columns []*parquet.ColumnWriter) {
	vs.bytes = 0
	for i := range vs.cols {
		vs.cols[i].w = columns[i]
	}
}

// Settle hands the last rows on, after which the row group may be committed.
func (vs *Vectors) Settle() error {
	for i := range vs.cols {
		vs.cols[i].settle()
	}
	return vs.Err()
}

// Err returns the first error of the writer.
func (vs *Vectors) Err() error {
	for i := range vs.cols {
		if err := vs.cols[i].err; err != nil {
			return err
		}
	}
	return nil
}

// Bytes returns how many bytes of values the row group has, before they are
// encoded.
func (vs *Vectors) Bytes() int64 { return vs.bytes }

// AddRow adds a row as a file of the same columns has it.
func (vs *Vectors) AddRow(row parquet.Row) {
	for i := range vs.cols {
		vs.cols[i].putValue(row[i])
	}
}

// AddCall adds the row that AppendCallRow makes.
func (vs *Vectors) AddCall(c *Call) {
	v := vs.cols
	v[0].putText(c.ID)
	v[1].putWord(c.AgentID)
	v[2].putWord(c.AgentVersion)
	v[3].putWord(c.CallType)
	v[4].putWord(c.Status)
	v[5].putWord(c.DisconnectionReason)
	v[6].putText(c.FromNumber)
	v[7].putText(c.ToNumber)
	v[8].putWord(c.PresentationNumber)
	v[9].putOptInstant(c.StartAt)
	v[10].putOptInstant(c.EndAt)
	v[11].putOptLong(c.DurationMS)
	v[12].putOptExact(c.TotalCost)
	v[13].putOptExact(c.CreditsUsed)
	v[14].putOptExact(c.BilledSeconds)
	v[15].putText(c.Summary)
	v[16].putWord(c.UserSentiment)
	v[17].putText(c.Evaluation)
	v[18].putText(c.Metadata)
	v[19].putText(c.DynamicVariables)
	v[20].putWord(c.VariantLabel)
	v[21].putText(c.RecordingURL)
	v[22].putOptBool(c.OptOut)
	v[23].putOptInt(c.TurnCount)
	v[24].putWord(wordBytes(transcriptBytes[:], c.TranscriptState))
	v[25].putWord(wordBytes(settlementBytes[:], c.Settlement))
	v[26].putWord(wordBytes(sourceBytes[:], c.Source))
	v[27].putText(c.Extra)
	v[28].putInstant(c.FirstSeenAt)
	v[29].putInstant(c.FetchedAt)
	v[30].putWord(c.RunID)
	v[31].putOptInt(c.UserTurns())
}

// AddTurn adds the row that AppendTurnRow makes.
func (vs *Vectors) AddTurn(c *Call, i int) {
	t, v := &c.Turns[i], vs.cols
	v[0].putWord(c.ID)
	v[1].putInt(int32(i))
	v[2].putWord(t.Role)
	v[3].putText(t.Content)
	v[4].putOptInstant(t.StartAt)
	v[5].putOptInstant(t.EndAt)
	v[6].putText(t.ToolCallID)
	v[7].putWord(t.ToolName)
	v[8].putText(t.Arguments)
	v[9].putText(t.Extra)
	v[10].putOptInstant(c.StartAt)
	v[11].putInstant(c.FetchedAt)
}

// AddItem adds the row that AppendItemRow makes.
func (vs *Vectors) AddItem(c *Call, i int) {
	t, v := &c.Items[i], vs.cols
	v[0].putWord(c.ID)
	v[1].putInt(int32(i))
	v[2].putWord(t.Name)
	v[3].putWord(t.Type)
	v[4].putText(t.Value)
	v[5].putText(t.Extra)
	v[6].putOptInstant(c.StartAt)
	v[7].putInstant(c.FetchedAt)
}
