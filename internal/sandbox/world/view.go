package world

// View is what the API shows of a call at one instant. Where a field of Call is
// not always shown, the View has one of the same name that stands before it.
type View struct {
	Call
	At int64

	Status     string // queued, ongoing, or the call's last one
	Reason     string // empty for null
	StartAt    int64  // 0 for null
	EndAt      int64  // 0 for null
	Sentiment  string // empty for none
	Cost       int64  // 0 where CostKnown is false
	Started    bool   // start_at is there
	Over       bool   // end_at is there
	Analysis   bool
	CostKnown  bool
	Transcript bool // there, if perhaps without an item
	Recording  bool
}

// shows reports whether the API shows the call at t.
func (c *Call) shows(t int64) bool {
	return c.VisibleAt <= t && (c.DeletedAt == 0 || t < c.DeletedAt)
}

// show fills in what shows at t. A call is queued, then ongoing, then over; a
// call that does not connect is over from its start (or within a second of it).
// An ongoing call has neither transcript nor recording: the service hands them
// out whole, when the call is over.
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
	v.Transcript = v.Over && c.talked && !c.OptedOut
	v.Recording = v.Transcript && c.beatN > 0
	v.StartAt, v.EndAt, v.Sentiment, v.Cost = 0, 0, "", 0
	if v.Started {
		v.StartAt = c.StartAt
	}
	if v.Over {
		v.EndAt = c.EndAt
	}
	if v.Analysis {
		v.Sentiment = c.Sentiment
	}
	if v.CostKnown {
		v.Cost = c.Cost
	}
}
