package schema

import "github.com/parquet-go/parquet-go"

// AppendCallRow appends the call's row of the table calls: one value for each
// of Calls.Columns, in that order, with its levels and column index set. The
// values alias the call's byte slices.
func AppendCallRow(dst parquet.Row, c *Call) parquet.Row {
	return append(dst,
		requiredText(c.ID, 0),
		text(c.AgentID, 1),
		text(c.AgentVersion, 2),
		text(c.CallType, 3),
		text(c.Status, 4),
		text(c.DisconnectionReason, 5),
		text(c.FromNumber, 6),
		text(c.ToNumber, 7),
		text(c.PresentationNumber, 8),
		instantValue(c.StartAt, 9),
		instantValue(c.EndAt, 10),
		int64Value(c.DurationMS, 11),
		exactValue(c.TotalCost, 12),
		exactValue(c.CreditsUsed, 13),
		exactValue(c.BilledSeconds, 14),
		text(c.Summary, 15),
		text(c.UserSentiment, 16),
		text(c.Evaluation, 17),
		text(c.Metadata, 18),
		text(c.DynamicVariables, 19),
		text(c.VariantLabel, 20),
		text(c.RecordingURL, 21),
		boolValue(c.OptOut, 22),
		int32Value(c.TurnCount, 23),
		requiredText(wordBytes(transcriptBytes[:], c.TranscriptState), 24),
		requiredText(wordBytes(settlementBytes[:], c.Settlement), 25),
		requiredText(wordBytes(sourceBytes[:], c.Source), 26),
		text(c.Extra, 27),
		requiredInstant(c.FirstSeenAt, 28),
		requiredInstant(c.FetchedAt, 29),
		requiredText(c.RunID, 30),
		int32Value(c.UserTurns(), 31),
	)
}

// AppendTurnRow appends the row of turn i of the call, as AppendCallRow does.
func AppendTurnRow(dst parquet.Row, c *Call, i int) parquet.Row {
	t := &c.Turns[i]
	return append(dst,
		requiredText(c.ID, 0),
		parquet.Int32Value(int32(i)).Level(0, 0, 1),
		text(t.Role, 2),
		text(t.Content, 3),
		instantValue(t.StartAt, 4),
		instantValue(t.EndAt, 5),
		text(t.ToolCallID, 6),
		text(t.ToolName, 7),
		text(t.Arguments, 8),
		text(t.Extra, 9),
		instantValue(c.StartAt, 10),
		instantValue(Some(c.FetchedAt), 11),
	)
}

// AppendItemRow appends the row of analysis item i of the call, as
// AppendCallRow does.
func AppendItemRow(dst parquet.Row, c *Call, i int) parquet.Row {
	t := &c.Items[i]
	return append(dst,
		requiredText(c.ID, 0),
		parquet.Int32Value(int32(i)).Level(0, 0, 1),
		text(t.Name, 2),
		text(t.Type, 3),
		text(t.Value, 4),
		text(t.Extra, 5),
		instantValue(c.StartAt, 6),
		instantValue(Some(c.FetchedAt), 7),
	)
}

// The words of words.go as bytes, so that a value can alias them.
var (
	transcriptBytes = byteWords(transcriptWords[:])
	settlementBytes = byteWords(settlementWords[:])
	sourceBytes     = byteWords(sourceWords[:])
)

func byteWords(words []string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte(w)
	}
	return out
}

func wordBytes[W ~uint8](words [][]byte, w W) []byte {
	if int(w) < len(words) {
		return words[w]
	}
	return words[0]
}

// nulls are the null values of the columns that a table may have.
var nulls = func() (v [64]parquet.Value) {
	for col := range v {
		v[col] = parquet.NullValue().Level(0, 0, col)
	}
	return v
}()

func text(b []byte, col int) parquet.Value {
	if b == nil {
		return nulls[col]
	}
	return parquet.ByteArrayValue(b).Level(0, 1, col)
}

func int64Value(o Opt[int64], col int) parquet.Value {
	if !o.OK {
		return nulls[col]
	}
	return parquet.Int64Value(o.V).Level(0, 1, col)
}

// microseconds of a millisecond, in which instants are held here.
const micros = 1000

func instantValue(o Opt[int64], col int) parquet.Value {
	return int64Value(Opt[int64]{o.V * micros, o.OK}, col)
}

func requiredInstant(ms int64, col int) parquet.Value { return requiredInt64(ms*micros, col) }

func exactValue(o Opt[Decimal], col int) parquet.Value {
	if !o.OK {
		return nulls[col]
	}
	return parquet.FixedLenByteArrayValue(o.V.append16(make([]byte, 0, exactBytes))).Level(0, 1, col)
}

func int32Value(o Opt[int32], col int) parquet.Value {
	if !o.OK {
		return nulls[col]
	}
	return parquet.Int32Value(o.V).Level(0, 1, col)
}

func boolValue(o Opt[bool], col int) parquet.Value {
	if !o.OK {
		return nulls[col]
	}
	return parquet.BooleanValue(o.V).Level(0, 1, col)
}

func requiredText(b []byte, col int) parquet.Value {
	return parquet.ByteArrayValue(b).Level(0, 0, col)
}

func requiredInt64(v int64, col int) parquet.Value {
	return parquet.Int64Value(v).Level(0, 0, col)
}
