package world

// View is what the API shows of a call at one instant. Its fields replace those of the same name in
// Call, which do not always show.
type View struct {
	Call
	At int64

	Status     string // queued, ongoing, or the final one
	Reason     string // empty for null
	StartAt    int64  // 0 for null
	EndAt      int64  // 0 for null
	Sentiment  string // empty: none
	Cost       int64  // 0 unless CostKnown
	Started    bool   // it has start_at
	Over       bool   // it has end_at
	Analysis   bool
	CostKnown  bool
	Transcript bool // it has one, possibly empty
	Recording  bool
	Record     bool // it can be requested
	edit       edit // of its words
}

// shows reports whether the API shows the call at t.
func (c *Call) shows(t int64) bool {
	return c.VisibleAt <= t && (c.DeletedAt == 0 || t < c.DeletedAt)
}

// show computes what shows at t. A call is queued, then ongoing, then over; an unconnected call is
// over at its start (or within a second). An ongoing call has neither transcript nor recording,
// which the service returns only for finished calls.
func (v *View) show(t int64) {
	c := &v.Call
	v.At = t
	v.Started = t >= c.StartAt
	v.Over = v.Started && t >= c.EndAt
	v.Status, v.Reason = "queued", ""
	switch {
	case v.Over:
		v.Status, v.Reason = c.Status, c.Reason
	case v.Started:
		v.Status = "ongoing"
	}
	v.Analysis = c.AnalysisAt > 0 && t >= c.AnalysisAt
	v.CostKnown = c.CostAt > 0 && t >= c.CostAt
	available := v.Over && c.talked && !c.OptedOut
	v.Transcript = available && t >= c.TranscriptAt
	v.Recording = available && c.beatN > 0 && t >= c.RecordingAt
	v.Record = t >= c.recordAt
	v.edit = unedited
	if c.correctedAt > 0 && t >= c.correctedAt {
		v.edit = corrected
	}
	if c.maskedAt > 0 && t >= c.maskedAt {
		v.edit = masked
	}
	v.StartAt, v.EndAt, v.Sentiment, v.Cost = 0, 0, "", 0
	if v.Started {
		v.StartAt = c.StartAt
	}
	if v.Over {
		v.EndAt = c.EndAt
	}
	if c.seconds {
		v.StartAt -= v.StartAt % msSecond
		v.EndAt -= v.EndAt % msSecond
	}
	if v.Analysis {
		v.Sentiment = c.Sentiment
	}
	if v.CostKnown {
		v.Cost = c.Cost
	}
}
