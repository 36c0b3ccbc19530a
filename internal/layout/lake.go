package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// LakesName is the folder at the top of a warehouse with one file for each place that it was
// published to.
const LakesName = "lakes"

// Lake is a place that a warehouse was published to, for the receipts of forget.
type Lake struct {
	FormatVersion int       `json:"format_version"`
	To            string    `json:"to"`
	Catalog       string    `json:"catalog,omitempty"`
	Namespace     string    `json:"namespace,omitempty"`
	Organization  string    `json:"organization,omitempty"`
	Snapshot      int64     `json:"snapshot"`     // the last one that was published
	PublishedAt   time.Time `json:"published_at"` // when that was finished; it also removes what is not in the warehouse any more
	Foreign       int       `json:"foreign"`      // files there that other programs wrote, which no publication removes
}

// Name returns the name of the lake's file.
func (l *Lake) Name() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{l.To, l.Catalog, l.Namespace, l.Organization}, "\x00")))
	return hex.EncodeToString(sum[:8]) + ".json"
}

// IsLakeName reports whether name is one that Name made.
func IsLakeName(name string) bool { return pinRE.MatchString(name) }
