package world

import (
	"slices"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
)

// Fault is a disturbance of a call: what the service shows of it is late, replaced or in another
// form.
type Fault string

// Faults are the shares of calls with each fault. They are drawn independently: a call may have
// several.
type Faults = dice.Shares[Fault]

// fault is what a fault does to a call, between min and max after its end.
type fault struct {
	Kind     Fault
	Effect   string // for the reference
	min, max int64
	apply    func(c *Call, at int64)
}

// CallFaults lists all faults. Unless an effect names a form, the call is without the fault in the end.
var CallFaults = []fault{
	{"late-record", "the record gets 404 for up to 12 hours after the end", msMinute, 12 * msHour,
		func(c *Call, at int64) { c.recordAt = at }},
	{"late-transcript", "`transcript` is null for 1 to 48 hours after the end", msHour, 48 * msHour,
		func(c *Call, at int64) { c.TranscriptAt = at }},
	{"late-analysis", "the same with `call_analysis`", msHour, 48 * msHour, func(c *Call, at int64) { later(&c.AnalysisAt, at) }},
	{"late-cost", "the same with `call_cost`", msHour, 48 * msHour, func(c *Call, at int64) { later(&c.CostAt, at) }},
	{"late-link", "`recording_url` is null for up to 12 hours after the end", msMinute, 12 * msHour,
		func(c *Call, at int64) { c.RecordingAt = at }},
	{"stuck", "analysis and cost never come", 0, 0,
		func(c *Call, _ int64) { c.AnalysisAt, c.CostAt, c.Cost, c.Sentiment = 0, 0, 0, "" }},
	{"masked", "1 to 48 hours after the end, `[REDACTED]` replaces the summary and all speech", msHour, 48 * msHour,
		func(c *Call, at int64) { c.maskedAt = at }},
	{"corrected", "1 to 48 hours after the end, the summary and the first speech are corrected", msHour, 48 * msHour,
		func(c *Call, at int64) { c.correctedAt = at }},
	{"no-end", "`end_at` of an ongoing call is 0, or before its start", 0, 1, func(c *Call, at int64) { c.Form.Ends = 1 + (at-c.EndAt)%2 }},
	{"odd-times", "times are ISO 8601 in one of many spellings, or fractions of a millisecond", 1, 1 << 40,
		func(c *Call, at int64) { c.Form.Times = uint64(at - c.EndAt) }},
	{"whole-seconds", "`start_at` and `end_at` are in whole seconds; bounds apply to the exact times", 0, 0,
		func(c *Call, _ int64) { c.seconds = true }},
	{"huge-record", "the record has more than 8 MiB", 0, 0, func(c *Call, _ int64) { c.Form.Huge = true }},
	{"broken-record", "the record is half of its JSON", 0, 0, func(c *Call, _ int64) { c.Form.Broken = true }},
}

// Form is the form of a call's JSON. The zero value is the service's.
type Form struct {
	Ends         int64  // while the call goes on, end_at is 0 (1) or before the start (2)
	Times        uint64 // a draw for the spelling of times; 0: ms
	Huge, Broken bool   // the record
}

// ParseFaults reads "late-record=0.05,masked=0.01".
func ParseFaults(text string) (fs Faults, _ error) {
	fs, err := dice.ReadShares[Fault](text, "fault of calls")
	if err != nil {
		return nil, err
	}
	return fs, checkFaults(fs)
}

func checkFaults(fs Faults) error {
	var all []Fault
	for _, f := range CallFaults {
		all = append(all, f.Kind)
	}
	for i := range fs {
		if err := fs[i:i+1].Check("fault of calls", all); err != nil {
			return err
		}
	}
	return nil
}

// disturb applies the faults of call c.
func (w *World) disturb(c *Call) {
	for _, share := range w.cfg.Faults {
		n := slices.IndexFunc(CallFaults, func(f fault) bool { return f.Kind == share.Kind })
		if h := dice.Hash(c.Key, 400+uint64(n)); dice.Unit(h) < share.Rate {
			f := &CallFaults[n]
			f.apply(c, c.EndAt+f.min+int64(dice.Pick(dice.Mix(h), int(f.max-f.min+1))))
		}
	}
}

// later sets when something comes, if it ever does.
func later(when *int64, at int64) {
	if *when > 0 {
		*when = at
	}
}

// edit is what has become of a call's words.
type edit uint8

const (
	unedited edit = iota
	corrected
	masked
)

// Mask is the text in place of masked words.
const Mask = "[REDACTED]"

var (
	maskedText    = script.Plain(Mask)
	correctedText = script.Plain("(corrected)")
)

// Edit returns a number for what has become of the words of the call.
func (v *View) Edit() uint32 { return uint32(v.edit) }

// Readable reports whether a client that takes 8 MiB can read the record.
func (v *View) Readable() bool { return v.Record && !v.Form.Huge && !v.Form.Broken }

// edited counts what an edit can change.
func (v *View) edited() (summaries, speech int64) {
	if v.Analysis {
		summaries = 1
	}
	if v.Readable() && v.Transcript {
		speech = int64(v.counts[script.RoleAgent] + v.counts[script.RoleUser])
	}
	return summaries, speech
}

// Summary is that of the call, as it shows.
func (v *View) Summary() string {
	switch v.edit {
	case masked:
		return Mask
	case corrected:
		return v.Call.Summary() + " " + correctedText.Text(&v.Call)
	}
	return v.Call.Summary()
}

// Timeline is that of the call, as it shows. It overwrites items.
func (v *View) Timeline(items []Item) []Item {
	items = v.Call.Timeline(items)
	for i := range items {
		it := &items[i]
		if v.edit == unedited || it.Role > script.RoleUser {
			continue
		}
		if it.Text = &maskedText; v.edit == corrected {
			it.Text = &correctedText
			break
		}
	}
	return items
}
