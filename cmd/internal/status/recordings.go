package status

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// archive is the state of the archive of recordings.
type archive struct {
	Address string  `json:"address"`
	Stored  int64   `json:"stored"`
	Bytes   int64   `json:"bytes"`
	Due     int64   `json:"due"`
	Oldest  *moment `json:"oldest_due"` // end of the earliest due call; null: none is due
	Gone    int64   `json:"gone"`
	Refused int64   `json:"refused"`
	// Withheld counts recordings of callers who opted out.
	Withheld int64 `json:"withheld"`
	// Undeleted counts recordings that must be deleted and whose file may still exist.
	Undeleted int64 `json:"undeleted"`
	// Verified is the result of the last extract verify; null: it did not check recordings.
	Verified *verified `json:"verified"`
}

// verified is the result of extract verify for the archive.
type verified struct {
	*moment
	sink.RecordingsVerdict
}

func archiveOf(h *sink.History, now time.Time) *archive {
	m := h.Snapshot.Manifest
	if m.Archive == "" {
		return nil
	}
	r := m.Recordings()
	a := &archive{Address: m.Archive, Stored: r.States[schema.RecordingStored], Bytes: r.Bytes, Due: r.Due,
		Gone: r.States[schema.RecordingGone], Refused: r.States[schema.RecordingRefused],
		Withheld: r.States[schema.RecordingWithheld], Undeleted: r.States[schema.RecordingUndeleted] + h.Undeleted}
	if v := h.Verdict; v != nil && v.Recordings != nil {
		a.Verified = &verified{momentOf(v.At.UnixMilli(), now), *v.Recordings}
	}
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
	out += "; " + humanize.Comma(a.Stored) + " stored (" + humanize.Bytes(uint64(a.Bytes)) + "), " + humanize.Comma(a.Gone) + " gone, " +
		humanize.Comma(a.Refused) + " refused"
	if a.Undeleted > 0 {
		out += ", " + humanize.Comma(a.Undeleted) + " still to be deleted"
	}
	if v := a.Verified; v != nil {
		how := "length"
		if v.Hashed {
			how = "content"
		}
		out += fmt.Sprintf("; verified by %s %s ago: %s missing or changed", how, age(v.Age), humanize.Comma(v.Problems))
	}
	return out
}
