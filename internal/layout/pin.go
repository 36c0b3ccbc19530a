package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// PinsName is the folder at the top of a warehouse with one file for each catalog through which
// other programs read its snapshots.
const PinsName = "pins"

// Pin lists the snapshots that a catalog needs. A pinned snapshot is kept, even when superseded, as
// long as the catalog exists.
type Pin struct {
	FormatVersion int       `json:"format_version"`
	Host          string    `json:"host"`    // the machine that holds the catalog
	Catalog       string    `json:"catalog"` // its absolute path
	RenewedAt     time.Time `json:"renewed_at"`
	Snapshots     []Pinned  `json:"snapshots"`
}

// Pinned is a snapshot that a pin keeps: until a certain time if the catalog has moved on from it,
// otherwise without limit.
type Pinned struct {
	Snapshot int64      `json:"snapshot"`
	Until    *time.Time `json:"until,omitempty"`
}

var pinRE = regexp.MustCompile(`^[0-9a-f]{16}\.json$`)

// PinName returns the name of the pin for the catalog at an absolute path of a host.
func PinName(host, catalog string) string {
	sum := sha256.Sum256([]byte(host + "\x00" + catalog))
	return hex.EncodeToString(sum[:8]) + ".json"
}

// IsPinName reports whether PinName made name.
func IsPinName(name string) bool { return pinRE.MatchString(name) }

// ParsePin parses a pin. It returns a *VersionError for a pin of a later format.
func ParsePin(raw []byte) (*Pin, error) {
	p := new(Pin)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("parse pin: %w", err)
	}
	if p.FormatVersion > FormatVersion {
		return nil, &VersionError{Got: p.FormatVersion}
	}
	if p.FormatVersion < 1 {
		return nil, fmt.Errorf("parse pin: it has no format version")
	}
	return p, nil
}
