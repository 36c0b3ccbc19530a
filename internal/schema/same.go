package schema

import "bytes"

// Same says whether two states of a call are the same to whoever reads the
// warehouse: in all that the service says, and in the call's life. Not looked
// at are when and by which run it was fetched, when it was first seen, and the
// query of recording_url: signed links expire and change without their call.
func Same(a, b *Call) bool {
	if a.StartAt != b.StartAt || a.EndAt != b.EndAt || a.DurationMS != b.DurationMS ||
		a.TotalCost != b.TotalCost || a.CreditsUsed != b.CreditsUsed || a.BilledSeconds != b.BilledSeconds ||
		a.OptOut != b.OptOut || a.TurnCount != b.TurnCount || a.TranscriptState != b.TranscriptState ||
		a.Settlement != b.Settlement || a.Source != b.Source ||
		len(a.Turns) != len(b.Turns) || len(a.Items) != len(b.Items) {
		return false
	}
	for _, p := range [...][2][]byte{
		{a.ID, b.ID}, {a.AgentID, b.AgentID}, {a.AgentVersion, b.AgentVersion}, {a.CallType, b.CallType},
		{a.Status, b.Status}, {a.DisconnectionReason, b.DisconnectionReason}, {a.FromNumber, b.FromNumber},
		{a.ToNumber, b.ToNumber}, {a.PresentationNumber, b.PresentationNumber}, {a.Summary, b.Summary},
		{a.UserSentiment, b.UserSentiment}, {a.Evaluation, b.Evaluation}, {a.Metadata, b.Metadata},
		{a.DynamicVariables, b.DynamicVariables}, {a.VariantLabel, b.VariantLabel},
		{link(a.RecordingURL), link(b.RecordingURL)}, {a.Extra, b.Extra},
	} {
		if !equal(p[0], p[1]) {
			return false
		}
	}
	for i := range a.Turns {
		if !sameTurn(&a.Turns[i], &b.Turns[i]) {
			return false
		}
	}
	for i := range a.Items {
		x, y := &a.Items[i], &b.Items[i]
		if !equal(x.Name, y.Name) || !equal(x.Type, y.Type) || !equal(x.Value, y.Value) || !equal(x.Extra, y.Extra) {
			return false
		}
	}
	return true
}

func sameTurn(a, b *Turn) bool {
	return a.StartAt == b.StartAt && a.EndAt == b.EndAt && equal(a.Role, b.Role) &&
		equal(a.Content, b.Content) && equal(a.ToolCallID, b.ToolCallID) && equal(a.ToolName, b.ToolName) &&
		equal(a.Arguments, b.Arguments) && equal(a.Extra, b.Extra)
}

// equal tells null from empty.
func equal(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// link returns a URL without its query.
func link(url []byte) []byte {
	if i := bytes.IndexByte(url, '?'); i >= 0 {
		return url[:i]
	}
	return url
}
