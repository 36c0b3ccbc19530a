package erase

import (
	"fmt"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
)

// Lake reports whether the forgotten data is gone from a place to which the warehouse was
// published.
type Lake struct {
	To           string `json:"to"`
	Organization string `json:"organization,omitempty"`
	// CleanedAt is when the first publication after forgetting, or a later one, finished; nil: none
	// has.
	CleanedAt *time.Time `json:"cleaned_at"`
	Foreign   int        `json:"foreign"` // files of other programs there, which may hold forgotten data
	What      string     `json:"what"`    // the same, in words
}

// LakesSince returns the state of all places to which a warehouse was published, for calls
// forgotten since a snapshot.
func LakesSince(root string, number int64) ([]Lake, error) {
	fsys, err := disk.OpenToRead(root)
	if err != nil {
		return nil, err
	}
	noted, err := snapshot.Lakes(fsys, root)
	out := []Lake{}
	for i := range noted {
		out = append(out, lakeSince(&noted[i], number))
	}
	return out, err
}

func lakeSince(l *layout.Lake, number int64) Lake {
	out := Lake{To: l.To, Organization: l.Organization, Foreign: l.Foreign, What: "lake " + l.To}
	if l.Organization != "" {
		out.What += ", organisation " + l.Organization
	}
	if l.Snapshot < number {
		out.What += ": not published since; query publish iceberg removes the forgotten calls"
		return out
	}
	at := l.PublishedAt
	out.CleanedAt, out.What = &at, fmt.Sprintf("%s: cleaned at %s", out.What, at.UTC().Format(time.RFC3339))
	if l.Foreign > 0 {
		out.What += fmt.Sprintf(", except %d files written by other programs (query publish iceberg --check lists them)", l.Foreign)
	}
	return out
}

// lakes checks the places to which the warehouse was published.
func (c *receiptCheck) lakes(r *Receipt) error {
	lakes, err := LakesSince(c.root, r.Snapshot)
	for _, l := range lakes {
		if l.CleanedAt == nil || l.Foreign > 0 {
			c.bad.Add("lake", layout.LakesName, "%s", l.What)
		}
	}
	return err
}
