package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// LakesName is the folder at the top of a warehouse with one file for each place to which it was
// published.
const LakesName = "lakes"

// Lake describes a place to which a warehouse was published, for the receipts of forget.
type Lake struct {
	FormatVersion int       `json:"format_version"`
	To            string    `json:"to"`
	Catalog       string    `json:"catalog,omitempty"`
	Namespace     string    `json:"namespace,omitempty"`
	Organization  string    `json:"organization,omitempty"`
	Snapshot      int64     `json:"snapshot"`     // the last one published
	PublishedAt   time.Time `json:"published_at"` // when that publication finished; it also removes data that the warehouse no longer holds
	Foreign       int       `json:"foreign"`      // files of other programs, which no publication removes
}

// Name returns the name of the lake's file.
func (l *Lake) Name() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{l.To, l.Catalog, l.Namespace, l.Organization}, "\x00")))
	return hex.EncodeToString(sum[:8]) + ".json"
}
