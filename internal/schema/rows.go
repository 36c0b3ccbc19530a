package schema

import "github.com/parquet-go/parquet-go"

// AppendCallRow appends the call's row of the table calls: one value for each
// of Calls.Columns, in that order, with its levels and column index set. month
// is the partition that the row lies in, as in "2026-11". The values alias the
// call's byte slices, and nothing is allocated where dst has room.
func AppendCallRow(dst parquet.Row, c *Call, month []byte) parquet.Row {
	for col := range Calls.Columns {
		dst = append(dst, CallValue(c, col, month))
	}
	return dst
}

// AppendTurnRow appends the row of turn i of the call, as AppendCallRow does.
func AppendTurnRow(dst parquet.Row, c *Call, i int, month []byte) parquet.Row {
	for col := range Turns.Columns {
		dst = append(dst, TurnValue(c, i, col, month))
	}
	return dst
}

// AppendItemRow appends the row of analysis item i of the call, as
// AppendCallRow does.
func AppendItemRow(dst parquet.Row, c *Call, i int, month []byte) parquet.Row {
	for col := range Items.Columns {
		dst = append(dst, ItemValue(c, i, col, month))
	}
	return dst
}

// CallValue returns the call's value in the col-th of Calls.Columns.
func CallValue(c *Call, col int, month []byte) parquet.Value {
	switch col {
	case 0:
		return requiredText(c.ID, col)
	case 1:
		return text(c.AgentID, col)
	case 2:
		return text(c.AgentVersion, col)
	case 3:
		return text(c.CallType, col)
	case 4:
		return text(c.Status, col)
	case 5:
		return text(c.DisconnectionReason, col)
	case 6:
		return text(c.FromNumber, col)
	case 7:
		return text(c.ToNumber, col)
	case 8:
		return text(c.PresentationNumber, col)
	case 9:
		return int64Value(c.StartAt, col)
	case 10:
		return int64Value(c.EndAt, col)
	case 11:
		return int64Value(c.DurationMS, col)
	case 12:
		return int64Value(c.TotalCost, col)
	case 13:
		return int64Value(c.CreditsUsed, col)
	case 14:
		return int64Value(c.BilledSeconds, col)
	case 15:
		return text(c.Summary, col)
	case 16:
		return text(c.UserSentiment, col)
	case 17:
		return text(c.Evaluation, col)
	case 18:
		return text(c.Metadata, col)
	case 19:
		return text(c.DynamicVariables, col)
	case 20:
		return text(c.VariantLabel, col)
	case 21:
		return text(c.RecordingURL, col)
	case 22:
		if !c.OptOut.OK {
			return null(col)
		}
		return parquet.BooleanValue(c.OptOut.V).Level(0, 1, col)
	case 23:
		if !c.TurnCount.OK {
			return null(col)
		}
		return parquet.Int32Value(c.TurnCount.V).Level(0, 1, col)
	case 24:
		return requiredText(wordBytes(transcriptBytes[:], c.TranscriptState), col)
	case 25:
		return requiredText(wordBytes(settlementBytes[:], c.Settlement), col)
	case 26:
		return requiredText(wordBytes(sourceBytes[:], c.Source), col)
	case 27:
		return text(c.Extra, col)
	case 28:
		return requiredInt64(c.FirstSeenAt, col)
	case 29:
		return requiredInt64(c.FetchedAt, col)
	case 30:
		return requiredText(c.RunID, col)
	case 31:
		return requiredText(month, col)
	}
	return null(col)
}

// TurnValue returns the value of turn i of the call in the col-th of
// Turns.Columns.
func TurnValue(c *Call, i, col int, month []byte) parquet.Value {
	t := &c.Turns[i]
	switch col {
	case 0:
		return requiredText(c.ID, col)
	case 1:
		return parquet.Int32Value(int32(i)).Level(0, 0, col)
	case 2:
		return text(t.Role, col)
	case 3:
		return text(t.Content, col)
	case 4:
		return int64Value(t.StartAt, col)
	case 5:
		return int64Value(t.EndAt, col)
	case 6:
		return text(t.ToolCallID, col)
	case 7:
		return text(t.ToolName, col)
	case 8:
		return text(t.Arguments, col)
	case 9:
		return text(t.Extra, col)
	case 10:
		return int64Value(c.StartAt, col)
	case 11:
		return requiredText(month, col)
	}
	return null(col)
}

// ItemValue returns the value of analysis item i of the call in the col-th of
// Items.Columns.
func ItemValue(c *Call, i, col int, month []byte) parquet.Value {
	t := &c.Items[i]
	switch col {
	case 0:
		return requiredText(c.ID, col)
	case 1:
		return parquet.Int32Value(int32(i)).Level(0, 0, col)
	case 2:
		return text(t.Name, col)
	case 3:
		return text(t.Type, col)
	case 4:
		return text(t.Value, col)
	case 5:
		return text(t.Extra, col)
	case 6:
		return int64Value(c.StartAt, col)
	case 7:
		return requiredText(month, col)
	}
	return null(col)
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

func null(col int) parquet.Value { return parquet.NullValue().Level(0, 0, col) }

func text(b []byte, col int) parquet.Value {
	if b == nil {
		return null(col)
	}
	return parquet.ByteArrayValue(b).Level(0, 1, col)
}

func int64Value(o Opt[int64], col int) parquet.Value {
	if !o.OK {
		return null(col)
	}
	return parquet.Int64Value(o.V).Level(0, 1, col)
}

func requiredText(b []byte, col int) parquet.Value {
	return parquet.ByteArrayValue(b).Level(0, 0, col)
}

func requiredInt64(v int64, col int) parquet.Value {
	return parquet.Int64Value(v).Level(0, 0, col)
}
