package health

import (
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// archive is the state of the archive of recordings.
type archive struct {
	Address string  `json:"address"`
	Stored  int64   `json:"stored"`
	Bytes   int64   `json:"bytes"`
	Due     int64   `json:"due"`
	Oldest  *moment `json:"oldest_due"` // the end of the earliest call that is due; null: none is
	Gone    int64   `json:"gone"`
	Refused int64   `json:"refused"`
	// Withheld are those of callers who opted out.
	Withheld int64 `json:"withheld"`
	// Uncounted is set while files of earlier builds may have more that are due.
	Uncounted bool `json:"uncounted,omitempty"`
}

func archiveOf(m *layout.Manifest, now time.Time) *archive {
	if m.Archive == "" {
		return nil
	}
	r := m.Recordings()
	a := &archive{Address: m.Archive, Stored: r.States[schema.RecordingStored], Bytes: r.Bytes, Due: r.Due,
		Gone: r.States[schema.RecordingGone], Refused: r.States[schema.RecordingRefused], Withheld: r.States[schema.RecordingWithheld], Uncounted: r.Uncounted}
	if r.Oldest != nil {
		a.Oldest = momentOf(*r.Oldest, now)
	}
	return a
}

func (a *archive) text() string {
	out := cli.Plural(a.Due, "recording") + " due"
	if a.Oldest != nil {
		out += ", the oldest of a call " + age(a.Oldest.Age) + " ago"
	}
	if a.Uncounted {
		out += ", besides those in files of an earlier version (extract migrate)"
	}
	return out + "; " + humanize.Comma(a.Stored) + " stored (" + humanize.Bytes(uint64(a.Bytes)) + "), " + humanize.Comma(a.Gone) + " gone, " +
		humanize.Comma(a.Refused) + " refused"
}
