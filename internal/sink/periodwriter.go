package sink

import (
	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// periodWriter writes the files of one period.
type periodWriter struct {
	dataFiles                // of schema.CallTables
	tools     calls.ToolRows // of the call being written
}

// newPeriodWriter returns the writer of a period in a folder. country is the region of its calls'
// national telephone numbers.
func newPeriodWriter(in *builder, period, country string) *periodWriter {
	return &periodWriter{dataFiles: newDataFiles(in, period, schema.CallTables...).ReadIn(country)}
}

// countCall adds a call to the manifest's figures for a file of calls.
func countCall(info *layout.File, call *calls.Call) {
	widen(info, call.StartAt())
	if !call.StartAt().OK {
		info.Undated++
	}
	if call.Waits() {
		info.Due++
	}
	if call.Unsure() {
		info.Unsure++
	}
	if call.TranscriptState() == calls.Unreadable {
		info.Unreadable++
	}
	if call.TranscriptState() == calls.Skipped {
		if info.Skipped == nil {
			info.Skipped = map[string]int64{}
		}
		info.Skipped[string(call.Kind())]++
	}
	if call.InBulk() {
		info.Bulk++
	}
	if call.CostUnheld() {
		info.UnheldCosts++
	}
	if call.RecordingDue() {
		info.Unarchived++
		if since := call.EndOrSight(); info.OldestUnarchived == nil || since < *info.OldestUnarchived {
			info.OldestUnarchived = &since
		}
	}
	if !call.Unsettled() {
		return
	}
	info.Unsettled++
	if !call.StartAt().OK {
		info.Unstarted++
	}
	since := call.Began()
	if info.OldestUnsettled == nil || since < *info.OldestUnsettled {
		info.OldestUnsettled = &since
	}
	if expiry := call.ExpiresAt(); info.NextExpiry == nil || expiry < *info.NextExpiry {
		info.NextExpiry = &expiry
	}
}

// countRecording adds a call's recording to the manifest's figures for a file of recordings.
func countRecording(info *layout.File, call *calls.Call) {
	r, ok := call.Recording()
	if !ok {
		return
	}
	if info.Recordings == nil {
		info.Recordings = map[string]int64{}
	}
	info.Recordings[r.State]++
	if r.Undeleted() {
		info.Recordings[schema.RecordingUndeleted]++
	}
	if r.State == schema.RecordingStored {
		info.AudioBytes += r.Bytes
	}
}

// widen widens a file's bounds of start_at.
func widen(info *layout.File, start schema.Opt[int64]) {
	if !start.OK {
		return
	}
	v := start.V
	if info.MinStart == nil {
		lo, hi := v, v
		info.MinStart, info.MaxStart = &lo, &hi
		return
	}
	*info.MinStart = min(*info.MinStart, v)
	*info.MaxStart = max(*info.MaxStart, v)
}

// Write writes a call with all its rows. It completes one that is not unchanged.
func (w *periodWriter) Write(call *calls.Call, unchanged bool) error {
	if tools := w.tools.Of(call); !unchanged {
		call.Complete(tools)
	}
	countCall(&w.dataFiles[0].info, call)
	if err := w.dataFiles[0].Add(call.Row); err != nil {
		return err
	}
	for i := range call.Lists {
		t, rows := w.dataFiles[i+1], &call.Lists[i]
		if rows.Len() == 0 {
			continue
		}
		widen(&t.info, call.StartAt())
		if t.table == &schema.Recordings {
			countRecording(&t.info, call)
		}
		if err := t.addList(&call.Object, i); err != nil {
			return err
		}
	}
	return w.tools.Each(call, func(row schema.Row) error {
		t := w.dataFiles[len(call.Lists)+1]
		widen(&t.info, call.StartAt())
		return t.Add(row)
	})
}
